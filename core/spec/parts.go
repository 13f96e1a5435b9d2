package spec

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/policy"
)

// BindingIdle is how many seconds a binding of a kind of key lasts without a
// request.
func (c *Config) BindingIdle(kind policy.KeySource) uint64 {
	h := c.Session
	if kind == policy.KeyRouting {
		h = c.RoutingKey
	}
	if h == nil {
		return DefaultIdle
	}
	return valueOr(h.IdleSecs, DefaultIdle)
}

// BreakerConfig gives the breaker's settings; unset ones are its defaults.
func (c *Config) BreakerConfig() breaker.Config {
	var b breaker.Config
	if c.Breaker == nil {
		return b
	}
	if c.Breaker.Threshold != nil {
		b.Threshold = uint32(*c.Breaker.Threshold)
	}
	if c.Breaker.CoolDownMillis != nil {
		b.CoolDown = int64(*c.Breaker.CoolDownMillis)
	}
	return b
}

// Static gives the static workers.
func (c *Config) Static() []core.Worker {
	list := make([]core.Worker, 0, len(c.Workers))
	for i := range c.Workers {
		w := &c.Workers[i]
		stage, _ := core.ParseStage(w.Role)
		list = append(list, core.Worker{
			ID: core.WorkerID(w.id()), Address: w.Address, Models: w.Models, Stage: stage,
			Version: w.VersionGroup, Services: w.Services, Aborts: w.Engine == EngineSGLang,
		})
	}
	return list
}
