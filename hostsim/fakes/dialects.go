package fakes

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// dialect is an inference endpoint beside the two of OpenAI that are modelled in full: its requests are read, counted
// and recorded like theirs, and answered at once, whole, whether a stream was asked for or not. Engines answer
// /v1/messages and /v1/embeddings too.
type dialect struct {
	model  string // path of the model in the body; empty when it names none
	prompt string // path of the prompt, or of one of two
	other  string
	output string // path of the output budget
	write  func(b []byte, a *dialectAnswer) []byte
}

// dialectAnswer is what an answer of a dialect is made from.
type dialectAnswer struct {
	id, model      string // as JSON
	text           string
	prompt, output int
	vectors        int
	seed           uint64
	cached         int // tokens of the prompt
}

// dialects lists the further paths of an engine.
func (p *process) dialects() map[string]dialect {
	list := map[string]dialect{
		"/v1/responses":  {"model", "input", "", "max_output_tokens", writeResponse},
		"/v1/messages":   {"model", "messages", "", "max_tokens", writeMessage},
		"/v1/embeddings": {"model", "input", "", "", writeEmbedding},
	}
	if p.cfg.Dialect == SGLang {
		list["/generate"] = dialect{"", "text", "input_ids", "sampling_params.max_new_tokens", writeGenerated}
	}
	return list
}

// addDialects adds them to the routes.
func (p *process) addDialects(routes map[string]route) map[string]route {
	for path, d := range p.dialects() {
		routes[path] = route{[]string{http.MethodPost}, p.inferDialect(d), true}
	}
	return routes
}

func (p *process) inferDialect(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := p.rec.begin(r, p.cfg.Clock.Now())
		p.totals.openRequests.Add(1)
		x := &exchange{process: p, w: w, ctx: r.Context()}
		end := x.answerDialect(r, rec, d)
		p.totals.openRequests.Add(-1)
		p.rec.finish(rec, end, p.cfg.Clock.Now())
	}
}

func (x *exchange) answerDialect(r *http.Request, rec *Record, d dialect) ending {
	body, err := readBody(x.w, r, x.cfg.BodyLimit)
	x.rec.noteBody(rec, body)
	if err != nil {
		return ending{outcome: Aborted}
	}
	f, _, err := x.faults.pass(x.ctx, HangInference)
	if err != nil {
		return ending{outcome: Aborted}
	}
	if f.status != 0 {
		return x.fail(&apiError{status: f.status, message: "switched on for a test", retryAfter: f.retryAfter})
	}
	if !validJSON(body) || !gjson.ParseBytes(body).IsObject() {
		return x.fail(invalidBody("body", "the request body must be a JSON object"))
	}
	answer, bad := x.readDialect(d, gjson.ParseBytes(body))
	if bad != nil {
		return x.fail(bad)
	}
	x.rec.notePrompt(rec, answer.prompt)
	writeBody(x.w, http.StatusOK, d.write(nil, answer))
	return ending{outcome: Completed, status: http.StatusOK, tokens: answer.output}
}

// readDialect understands a body, or says what the engine has against it.
func (x *exchange) readDialect(d dialect, body gjson.Result) (*dialectAnswer, *apiError) {
	c := call{model: quote(x.cfg.Models[0])}
	if d.model != "" {
		if bad := x.nameModel(&c, body.Get(d.model)); bad != nil {
			return nil, bad
		}
	}
	prompt := body.Get(d.prompt)
	if d.other != "" && (!prompt.Exists() || prompt.Type == gjson.Null) {
		prompt = body.Get(d.other)
	}
	tokens, vectors := dialectTokens(prompt)
	if tokens == 0 {
		return nil, invalidBody("body."+d.prompt, "%s must be a text, a list, or token ids", d.prompt)
	}
	a := &dialectAnswer{id: `"` + hex16(x.newID()) + `"`, model: c.model, prompt: tokens, vectors: vectors, seed: x.cfg.Seed}
	if d.output != "" {
		const usual = 4
		n, given, bad := wholeNumber(d.output, body.Get(d.output))
		if bad != nil {
			return nil, bad
		}
		if given && (n < 1 || n > x.cfg.MaxModelLen) {
			return nil, badRequest(d.output, "%s is %d, it must be 1 to %d", d.output, n, x.cfg.MaxModelLen)
		}
		if a.output = n; !given {
			a.output = usual
		}
	}
	var text strings.Builder
	for i := range a.output {
		text.WriteString(word(a.seed, i))
	}
	a.text = text.String()
	if d.output != "" {
		a.cached = x.instant(prompt, body, a.output)
	}
	return a, nil
}

// dialectTokens counts a prompt of any form: as a completion's prompt where it is one, else by its text.
func dialectTokens(prompt gjson.Result) (tokens, sequences int) {
	if !prompt.Exists() || prompt.Type == gjson.Null {
		return 0, 0
	}
	if tokens, sequences, ok := promptTokens(prompt); ok {
		return max(tokens, 1), sequences
	}
	return max(countTokens(prompt.Raw), 1), 1
}

// number appends a member with a number.
func number(b []byte, open string, n int) []byte {
	return strconv.AppendInt(append(b, open...), int64(n), 10)
}

// writeGenerated writes SGLang's own form.
func writeGenerated(b []byte, a *dialectAnswer) []byte {
	b = append(b, `{"text":"`+a.text+`","output_ids":[`...)
	for i := range a.output {
		if i > 0 {
			b = append(b, ',')
		}
		b = number(b, "", int(wordID(a.seed, i)))
	}
	b = append(b, `],"meta_info":{"id":`+a.id+`,"finish_reason":{"type":"length","length":`...)
	b = number(b, "", a.output)
	b = number(b, `},"prompt_tokens":`, a.prompt)
	b = number(b, `,"completion_tokens":`, a.output)
	b = number(b, `,"cached_tokens":`, a.cached)
	return append(b, `}}`...)
}

func writeResponse(b []byte, a *dialectAnswer) []byte {
	b = append(b, `{"id":`+a.id+`,"object":"response","status":"completed","model":`+a.model+`,"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+a.text+`","annotations":[]}]}]`...)
	b = number(b, `,"usage":{"input_tokens":`, a.prompt)
	b = number(b, `,"output_tokens":`, a.output)
	b = number(b, `,"total_tokens":`, a.prompt+a.output)
	return append(b, `}}`...)
}

func writeMessage(b []byte, a *dialectAnswer) []byte {
	b = append(b, `{"id":`+a.id+`,"type":"message","role":"assistant","model":`+a.model+`,"content":[{"type":"text","text":"`+a.text+`"}],"stop_reason":"max_tokens","stop_sequence":null`...)
	b = number(b, `,"usage":{"input_tokens":`, a.prompt)
	b = number(b, `,"output_tokens":`, a.output)
	return append(b, `}}`...)
}

func writeEmbedding(b []byte, a *dialectAnswer) []byte {
	b = append(b, `{"object":"list","data":[`...)
	for i := range a.vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = number(b, `{"object":"embedding","index":`, i)
		b = append(b, `,"embedding":[0.5,-0.5]}`...)
	}
	b = append(b, `],"model":`+a.model...)
	b = number(b, `,"usage":{"prompt_tokens":`, a.prompt)
	b = number(b, `,"total_tokens":`, a.prompt)
	return append(b, `}}`...)
}
