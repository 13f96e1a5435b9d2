package hostsim

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// grpcService is what the host heeds of an envoy.config.core.v3.GrpcService: its envoy_grpc and its initial_metadata.
type grpcService struct {
	cluster, authority string
	metadata           [][2]string
}

// Fields of GrpcService, of its EnvoyGrpc and of HeaderValue.
const (
	fieldEnvoyGRPC       = 1
	fieldInitialMetadata = 5
	fieldCluster         = 1
	fieldAuthority       = 2
	fieldHeaderKey       = 1
	fieldHeaderValue     = 2
)

// parseGRPCService reads the message; ok is false when it is none. Unknown fields are skipped.
func parseGRPCService(blob []byte) (s grpcService, ok bool) {
	ok = eachField(blob, func(n protowire.Number, value []byte) bool {
		switch n {
		case fieldEnvoyGRPC:
			return eachField(value, func(n protowire.Number, value []byte) bool {
				switch n {
				case fieldCluster:
					s.cluster = string(value)
				case fieldAuthority:
					s.authority = string(value)
				}
				return true
			})
		case fieldInitialMetadata:
			var pair [2]string
			s.metadata = append(s.metadata, pair)
			last := &s.metadata[len(s.metadata)-1]
			return eachField(value, func(n protowire.Number, value []byte) bool {
				switch n {
				case fieldHeaderKey:
					last[0] = string(value)
				case fieldHeaderValue:
					last[1] = string(value)
				}
				return true
			})
		}
		return true
	})
	return s, ok
}

// eachField walks the fields of a message and gives those that have a length to f.
func eachField(blob []byte, f func(n protowire.Number, value []byte) bool) bool {
	for len(blob) > 0 {
		n, kind, size := protowire.ConsumeTag(blob)
		if size < 0 {
			return false
		}
		blob = blob[size:]
		if size = protowire.ConsumeFieldValue(n, kind, blob); size < 0 {
			return false
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(blob)
			if !f(n, value) {
				return false
			}
		}
		blob = blob[size:]
	}
	return true
}

// requestHeaders are the headers of a stream's request: Envoy's own first, then the service's, then the guest's.
func (s grpcService) requestHeaders(call GRPCCall, guest [][2]string) *Headers {
	authority := s.authority
	if authority == "" {
		authority = s.cluster
	}
	h := NewHeaders([2]string{":method", "POST"}, [2]string{":path", "/" + call.Service + "/" + call.Method},
		[2]string{":authority", authority}, [2]string{"te", "trailers"}, [2]string{"content-type", "application/grpc"})
	for _, list := range [][][2]string{s.metadata, guest} {
		for _, f := range list {
			if !strings.HasPrefix(f[0], ":") {
				h.Add(f[0], f[1])
			}
		}
	}
	return h
}
