package statesvc

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/pointsman/pointsman/statesvc/prompts"
)

// newIndexers prepares what asks other indexers, and what answers those who ask here.
func (s *Service) newIndexers(certificate *tls.Config) {
	if r := &s.cfg.KV.Remote; len(r.Endpoints) > 0 {
		s.remote = indexer.New(indexer.Options{
			Endpoints: r.Endpoints, Timeout: r.TimeoutMillis.Duration(), MaxInflight: r.MaxInflight, Logger: s.log,
		})
	}
	if x := &s.cfg.Indexer; x.Listen != "" {
		s.indexing = serving.New(serving.Options{
			Index: s.pump, Fleet: s.fleet, MaxInflight: x.MaxInflight, MaxConnections: x.MaxConnections, TLS: certificate,
		})
	}
}

// newPrompts joins tokenizers, the index here and the indexers elsewhere.
func (s *Service) newPrompts() *prompts.Prompts {
	o := prompts.Options{Tokenizer: s.tokens, Index: s.pump, Engines: s.tokens, Logger: s.log}
	if r := &s.cfg.KV.Remote; s.remote != nil {
		o.Remote, o.Places, o.BlockSize, o.Bigram = s.remote, s.tokens, r.BlockSize, r.Bigram
	}
	return prompts.New(o)
}

// IndexerAddr is that of indexer.listen, empty before Start and without one.
func (s *Service) IndexerAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexer == nil {
		return ""
	}
	return s.indexer.Addr().String()
}

// startIndexers begins to connect to other indexers, and to answer others. The caller
// holds mu.
func (s *Service) startIndexers(ctx context.Context, lc *net.ListenConfig) (err error) {
	if s.indexing != nil {
		if s.indexer, err = lc.Listen(ctx, "tcp", s.cfg.Indexer.Listen); err != nil {
			return fmt.Errorf("indexer.listen: %w", err)
		}
	}
	if s.remote != nil {
		if err := s.remote.Start(); err != nil {
			if s.indexer != nil {
				_ = s.indexer.Close() // nothing was accepted
			}
			return err
		}
	}
	if s.indexing == nil {
		return nil
	}
	s.running.Go(func() {
		if err := s.indexing.Serve(s.indexer); err != nil {
			s.fail(fmt.Errorf("serve kv_indexer.v1: %w", err))
		}
	})
	s.log.Info("the index answers kv_indexer.v1", "address", s.indexer.Addr().String(), "tls", s.cfg.TLS.Enabled())
	return nil
}

// stopIndexers ends what asks other indexers once nobody waits for their answers, and
// what answers others.
func (s *Service) stopIndexers(ctx context.Context) {
	if s.indexing != nil {
		s.indexing.Stop(ctx)
	}
	if s.remote != nil {
		s.remote.Close()
	}
}
