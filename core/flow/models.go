package flow

import (
	"encoding/json"
	"slices"
)

type modelList struct {
	Object string      `json:"object"`
	Data   []modelCard `json:"data"`
}

type modelCard struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	OwnedBy string `json:"owned_by"`
	Parent  string `json:"parent,omitempty"`
}

// answerModels answers GET /v1/models from the fleet: every routed name that an
// engine serves, adapters of routed models included. No engine is asked.
func (r *Request) answerModels() {
	if !r.ctx.Fleet.Known() {
		r.refuse(CodeStateUnavailable, "the router does not know its engines yet; try again")
		return
	}
	body, err := json.Marshal(modelList{Object: "list", Data: r.modelCards()})
	if err != nil {
		r.fail(err)
		return
	}
	r.ctx.Counters.add(ModelsListed)
	r.answer(Response{Status: 200, Body: body})
}

func (r *Request) modelCards() []modelCard {
	cards := []modelCard{}
	for _, name := range r.ctx.Router.Names() {
		target, _ := r.ctx.Router.Route(name, r.ctx.Fleet)
		if len(r.ctx.Fleet.Serving(target.Asked)) > 0 {
			cards = append(cards, modelCard{ID: name, Object: "model", OwnedBy: "pointsman"})
		}
	}
	routed := len(cards)
	for _, name := range r.ctx.Fleet.Models() {
		base, adapter := r.ctx.Fleet.Base(name)
		if !adapter || slices.ContainsFunc(cards[:routed], func(c modelCard) bool { return c.ID == name }) {
			continue
		}
		if _, ok := r.ctx.Router.Route(name, r.ctx.Fleet); ok {
			cards = append(cards, modelCard{ID: name, Object: "model", OwnedBy: "pointsman", Parent: base})
		}
	}
	return cards
}
