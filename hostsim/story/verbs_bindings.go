package story

import "errors"

// playBindings prints what keys are bound to.
func (r *run) playBindings(a *arguments, _ string) error {
	if err := a.done(); err != nil {
		return err
	}
	r.service.bindings.find([16]byte{}, r.clock.Now()) // drops those that ran out
	for _, b := range r.service.bindings {
		r.printf("%s\n", b)
	}
	if len(r.service.bindings) == 0 {
		r.printf("nothing\n")
	}
	return nil
}

// playHold makes the answers to requests' calls wait.
func (r *run) playHold(a *arguments, _ string) error {
	r.service.holding = true
	return a.done()
}

// playAnswer gives the answers that waited, in the order of their calls.
func (r *run) playAnswer(a *arguments, _ string) error {
	if err := a.done(); err != nil {
		return err
	}
	held := r.service.held
	if len(held) == 0 {
		return errors.New("no call waits; write hold above the requests whose calls are to wait")
	}
	r.service.held, r.service.holding = nil, false
	for _, answer := range held {
		answer()
		r.filter.RunPending()
	}
	return nil
}
