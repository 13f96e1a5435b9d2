package story

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/hostsim"
)

// asking is a request step.
type asking struct {
	id     string
	count  uint64
	end    End // of each when there are many
	keep   bool
	part   bool // only half of the body comes
	noBody bool
	body   []byte
	opened Opening
}

// playRequest sends a request, or many alike.
func (r *run) playRequest(a *arguments, input string) error {
	q, err := readAsking(a, input)
	if err != nil {
		return err
	}
	if q.count == 0 {
		r.send(q, q.id, false)
		return nil
	}
	sums := map[string]int{}
	for i := range q.count {
		e := r.send(q, q.id+"-"+strconv.FormatUint(i+1, 10), true)
		s := e.State()
		sums[r.sum(&s)]++
		if !q.keep && s.Endpoint != "" {
			r.finish(e, q.end)
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, sums[name]))
	}
	r.line(q.id, "of "+strconv.FormatUint(q.count, 10), strings.Join(parts, ", "))
	return nil
}

// sum names what became of one request of many.
func (r *run) sum(s *State) string {
	switch {
	case s.Answer != nil:
		return s.Answer.Code
	case s.Endpoint != "":
		return r.engines(s)[0]
	case s.Held:
		return "waiting"
	}
	return "passed"
}

func (r *run) send(q *asking, id string, quiet bool) *exchange {
	e := &exchange{id: id, quiet: quiet, body: q.body, Exchange: r.filter.Open(q.opened)}
	r.exchanges = append(r.exchanges, e)
	switch {
	case q.noBody:
	case q.part:
		half := len(q.body) / 2
		e.Data(q.body[:half], false)
		e.rest = q.body[half:]
	default:
		e.Data(q.body, true)
	}
	return e
}

// readAsking reads a request step.
func readAsking(a *arguments, input string) (*asking, error) {
	q := &asking{part: a.flag("part"), noBody: a.flag("no-body"), keep: a.flag("keep")}
	chunked := a.flag("chunked")
	q.id = a.id("the request, like \"request r1 model=m\"")
	q.count, _ = a.number("count")
	q.end = readEnd(a)
	path, ok := a.text("path")
	if !ok {
		path = "/v1/chat/completions"
	}
	method, ok := a.text("method")
	if !ok {
		method = "POST"
	}
	if method != "POST" {
		q.noBody = true
	}
	body, err := readBody(a, input, path)
	if err != nil {
		return nil, err
	}
	q.body = []byte(body)
	h := hostsim.NewHeaders([2]string{":method", method}, [2]string{":path", path}, [2]string{":authority", "models"})
	if length, ok := a.text("length"); ok {
		h.Set("content-length", length)
	} else if !chunked && !q.noBody {
		h.Set("content-length", strconv.Itoa(len(body)))
	}
	readHeaders(a, h)
	q.opened = Opening{Headers: h, End: q.noBody}
	return q, a.done()
}

func readBody(a *arguments, input, path string) (string, error) {
	p := prompt{model: "m", text: "hello", plain: strings.HasPrefix(path, "/v1/completions")}
	if model, ok := a.text("model"); ok {
		p.model = model
	}
	if text, ok := a.text("prompt"); ok {
		p.text = text
	}
	p.input, _ = a.number("input")
	p.output, _ = a.number("output")
	if peak, ok := a.number("peak"); ok {
		if peak <= p.input {
			a.fail("peak=%d is no more than input=%d; peak is input and output together", peak, p.input)
		} else {
			p.output = peak - p.input
		}
	}
	if input != "" {
		return strings.TrimSuffix(input, "\n"), nil
	}
	return p.body()
}

// readHeaders adds the headers that an argument names, and any other as
// header=(name,value).
func readHeaders(a *arguments, h *hostsim.Headers) {
	for _, named := range [][2]string{
		{"session", "x-session-id"},
		{"routing", "x-sgl-routing-key"},
		{"ttft", "x-sgl-ttft-slo-ms"},
		{"tps", "x-sgl-tps-slo"},
		{"hint", "x-pointsman-model"},
		{"encoding", "content-encoding"},
	} {
		if value, ok := a.text(named[0]); ok {
			h.Set(named[1], value)
		}
	}
	for pair, ok := a.list("header"); ok; pair, ok = a.list("header") {
		if len(pair) != 2 {
			a.fail("header takes a name and a value; write header=(x-tenant,blue)")
			return
		}
		h.Add(pair[0], pair[1])
	}
}

func readEnd(a *arguments) End {
	text, ok := a.text("end")
	if !ok {
		return EndComplete
	}
	if !slices.Contains(ends(), End(text)) {
		a.fail("end=%s is no end; write one of %v", text, ends())
	}
	return End(text)
}

// playBody sends the rest of a body.
func (r *run) playBody(a *arguments, _ string) error {
	e, err := r.find(a)
	if err != nil {
		return err
	}
	if err := a.done(); err != nil {
		return err
	}
	if len(e.rest) == 0 {
		return fmt.Errorf("the body of %s has come; write \"part\" on its request step", e.id)
	}
	rest := e.rest
	e.rest = nil
	e.Data(rest, true)
	return nil
}

// playRespond gives the head of an engine's answer.
func (r *run) playRespond(a *arguments, _ string) error {
	e, err := r.find(a)
	if err != nil {
		return err
	}
	status, ok := a.number("status")
	if !ok {
		status = 200
	}
	if err := r.upstream(a, e); err != nil {
		return err
	}
	if err := a.done(); err != nil {
		return err
	}
	e.Respond(int(status))
	text := "answers " + strconv.FormatUint(status, 10)
	if named := e.State().Worker; named != "" {
		text += ", the client is told " + named
	}
	r.line(e.id, "engine", text)
	return nil
}

// playRelease ends a request, or those of a step with a count.
func (r *run) playRelease(a *arguments, _ string) error {
	id := a.id("a request, like \"release r1\"")
	end := readEnd(a)
	if a.err != nil {
		return a.err
	}
	if group := r.group(id); len(group) > 0 {
		r.releaseGroup(id, group, end)
		return a.done()
	}
	e, err := r.request(id)
	if err != nil {
		return err
	}
	status, hasStatus := a.number("status")
	if err := r.upstream(a, e); err != nil {
		return err
	}
	if err := a.done(); err != nil {
		return err
	}
	if e.ended {
		return errEnded
	}
	if hasStatus {
		e.Respond(int(status))
	}
	r.finish(e, end)
	e.decided = true
	text := string(end)
	if hasStatus {
		text += " after " + strconv.FormatUint(status, 10)
	}
	r.line(e.id, "ends", text)
	r.showAborts(e.id)
	return nil
}

// releaseGroup ends the requests of a step with a count.
func (r *run) releaseGroup(id string, group []*exchange, end End) {
	for _, e := range group {
		r.finish(e, end)
	}
	r.line(id, "ends", count(len(group), "request")+" "+string(end))
	if n := len(r.service.aborts); n > 0 {
		r.line(id, "aborts", count(n, "request"))
		r.service.aborts = nil
	}
}

// showAborts prints which engines were told to end requests.
func (r *run) showAborts(id string) {
	for _, a := range r.service.aborts {
		r.line(id, "aborts", a.rid+" at "+r.service.name(a.address))
	}
	r.service.aborts = nil
}

// group lists the open requests of a step with a count.
func (r *run) group(id string) (list []*exchange) {
	for _, e := range r.exchanges {
		number, ok := strings.CutPrefix(e.id, id+"-")
		if _, err := strconv.ParseUint(number, 10, 64); ok && err == nil && e.quiet && !e.ended {
			list = append(list, e)
		}
	}
	return list
}

func (r *run) finish(e *exchange, end End) {
	e.ended = true
	e.Finish(end)
}

// upstream notes the engine that the host used: the first it was given, or another
// one that its transport retry came to.
func (r *run) upstream(a *arguments, e *exchange) error {
	s := e.State()
	if s.Endpoint == "" && !s.Held && s.Answer != nil {
		return fmt.Errorf("%s was answered by the filter and is over", e.id)
	}
	address, _, _ := strings.Cut(s.Endpoint, ",")
	if name, ok := a.text("used"); ok {
		worker := r.service.find(name)
		if worker == nil {
			return fmt.Errorf("no engine %s; write one of the fleet step", name)
		}
		address = worker.Address
	}
	if address != "" {
		e.Upstream(address)
	}
	return nil
}
