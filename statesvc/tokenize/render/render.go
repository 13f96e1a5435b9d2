package render

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
)

// Engine says whose way with messages it is.
type Engine uint8

// The engines.
const (
	VLLM Engine = iota
	SGLang
)

// UnrenderableError says why a request's tokens cannot be told here.
type UnrenderableError struct{ Reason string }

// Error gives the reason.
func (e *UnrenderableError) Error() string { return "cannot render the chat: " + e.Reason }

func refuse(format string, args ...any) error {
	return &UnrenderableError{fmt.Sprintf(format, args...)}
}

// Text is a rendered chat.
type Text struct {
	Text string
	// Then is tokenized by itself after it: SGLang continues a message so.
	Then string
	// Features are those that the request was seen to use.
	Features prompt.Features
}

// Renderer renders the chats of one model. It is immutable and safe for concurrent
// use.
type Renderer struct {
	template *chattemplate.Template
	engine   Engine
	content  chattemplate.ContentLoop
	tokens   map[string]string // bos_token and the like
	byTool   bool              // another template is for requests with tools
}

// New reads a model's tokenizer_config.json and compiles its chat template. A template
// of its own file, chat_template.jinja, goes before that of the configuration; it is
// empty without one. The error names what is not done.
func New(config []byte, template string, engine Engine) (*Renderer, error) {
	if !json.Valid(config) {
		return nil, refuse("tokenizer_config.json is not valid JSON")
	}
	parsed := gjson.ParseBytes(config)
	r := &Renderer{engine: engine, tokens: map[string]string{}}
	if template == "" {
		template, r.byTool = configured(parsed.Get("chat_template"))
	}
	if template == "" {
		return nil, refuse("the model has no chat template")
	}
	var err error
	if r.template, err = chattemplate.Compile(template); err != nil {
		return nil, fmt.Errorf("compile chat template: %w", err)
	}
	r.content = r.contentLoop(template)
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		v := parsed.Get(name)
		if v.IsObject() {
			v = v.Get("content")
		}
		if v.Type == gjson.String {
			r.tokens[name] = v.Str
		}
	}
	return r, nil
}

// contentLoop tells the form of content that the engine gives to the template. SGLang
// takes every template that speaks of media for one that goes through parts.
func (r *Renderer) contentLoop(source string) chattemplate.ContentLoop {
	if r.engine == SGLang {
		for _, word := range []string{"image", "audio", "video", "vision"} {
			if strings.Contains(source, word) {
				return chattemplate.ContentParts
			}
		}
	}
	return r.template.ContentLoop()
}

// configured gives the template of a configuration: a string, or the one named
// default of a list.
func configured(v gjson.Result) (template string, byTool bool) {
	if v.Type == gjson.String {
		return v.Str, false
	}
	v.ForEach(func(_, item gjson.Result) bool {
		switch item.Get("name").Str {
		case "default":
			template = item.Get("template").Str
		case "tool_use":
			byTool = true
		}
		return true
	})
	return template, byTool
}

// Render gives the text of a chat. The error is an *UnrenderableError, one of the
// template's, or the context's.
func (r *Renderer) Render(ctx context.Context, p *prompt.Prompt) (Text, error) {
	if p.Messages == "" {
		return Text{}, refuse("it has no messages")
	}
	settings, err := r.settings(p)
	if err != nil {
		return Text{}, err
	}
	c := &conversation{Renderer: r}
	messages, err := c.messages(p.Messages)
	if err != nil {
		return Text{}, err
	}
	tools, err := r.tools(p.Tools)
	if err != nil {
		return Text{}, err
	}
	if (c.features&prompt.Tools != 0 || tools != nil) && r.byTool {
		return Text{}, refuse("another template is for requests with tools")
	}
	if err := c.adapt(messages, settings.carryOn); err != nil {
		return Text{}, err
	}
	end := ending{}
	if settings.carryOn {
		if end, err = r.carryOn(messages, &settings); err != nil {
			return Text{}, err
		}
	}
	args := r.args(messages, tools, settings)
	text, err := r.template.Render(ctx, args, chattemplate.For(len(p.Messages)+len(p.Tools)))
	if err != nil {
		return Text{}, err
	}
	out, err := end.of(text)
	out.Features = p.Features | c.features
	return out, err
}

// adapt changes the messages as the engine does before its template sees them.
func (c *conversation) adapt(messages *chattemplate.List, carryOn bool) error {
	if c.engine == SGLang {
		return c.asSGLang(messages, carryOn)
	}
	return asVLLM(messages)
}

func (r *Renderer) args(messages *chattemplate.List, tools chattemplate.Value, s settings) *chattemplate.Dict {
	args := chattemplate.NewDict()
	for name, token := range r.tokens {
		args.Set(name, token)
	}
	args.Set("documents", nil)
	for _, name := range s.kwargs.Keys() {
		v, _ := s.kwargs.Get(name)
		args.Set(name, v)
	}
	args.Set("messages", messages)
	args.Set("tools", tools)
	args.Set("add_generation_prompt", s.generate)
	return args
}

// settings are the members of a request that the template sees.
type settings struct {
	generate, carryOn bool
	kwargs            *chattemplate.Dict
}

func (r *Renderer) settings(p *prompt.Prompt) (settings, error) {
	s := settings{generate: true, kwargs: chattemplate.NewDict()}
	for name, raw := range p.Members {
		v := gjson.Parse(raw)
		switch name {
		case "add_generation_prompt":
			if !v.IsBool() {
				return s, refuse("add_generation_prompt")
			}
			s.generate = v.Bool() || r.engine == SGLang // whose chats have no such member
		case "continue_final_message":
			if !v.IsBool() {
				return s, refuse("continue_final_message")
			}
			s.carryOn = v.Bool()
		case "chat_template_kwargs":
			kwargs, err := chattemplate.FromJSON(v)
			if err != nil {
				return s, refuse("chat_template_kwargs: %v", err)
			}
			var ok bool
			if s.kwargs, ok = kwargs.(*chattemplate.Dict); !ok {
				return s, refuse("chat_template_kwargs is no object")
			}
		case "reasoning_effort":
			if r.template.Mentions("reasoning_effort") || r.template.Mentions("enable_thinking") {
				return s, refuse("reasoning_effort")
			}
		case "tool_choice":
			if p.Tools != "" && (raw == `"none"` || r.engine == SGLang && raw != `"auto"` && raw != `"required"`) {
				return s, refuse("tool_choice %.40s with tools", raw)
			}
		case "mm_processor_kwargs": // of no use without media, which are refused
		default:
			return s, refuse("%s", name)
		}
	}
	return s, r.checkKwargs(s.kwargs)
}

// checkKwargs refuses arguments that engines handle apart.
func (r *Renderer) checkKwargs(kwargs *chattemplate.Dict) error {
	for _, name := range kwargs.Keys() {
		switch name {
		case "messages", "conversation", "tools", "documents", "chat_template", "add_generation_prompt", "continue_final_message",
			"tokenize", "padding", "truncation", "max_length", "return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs":
			return refuse("chat_template_kwargs.%s", name)
		}
		if _, ok := r.tokens[name]; ok {
			return refuse("chat_template_kwargs.%s", name)
		}
	}
	return nil
}

// ending is what is done to a rendered text whose last message goes on.
type ending struct {
	cut  bool
	then string
}

// goesOn marks where a message that goes on ends. Hugging Face's own mark is the same,
// which matters for messages that hold it.
const goesOn = "CONTINUE_FINAL_MESSAGE_TAG "

// carryOn prepares the last message for being continued: vLLM cuts the text after it,
// SGLang leaves it out and tokenizes it by itself.
func (r *Renderer) carryOn(messages *chattemplate.List, s *settings) (ending, error) {
	if len(messages.Items) == 0 {
		return ending{}, refuse("continue_final_message without messages")
	}
	last := messages.Items[len(messages.Items)-1].(*chattemplate.Dict)
	content, _ := last.Get("content")
	words, ok := content.(string)
	role, _ := last.Get("role")
	if !ok || role != "assistant" {
		return ending{}, refuse("continue_final_message of a message that is not the assistant's text")
	}
	if r.engine == SGLang {
		messages.Items = messages.Items[:len(messages.Items)-1]
		return ending{then: words}, nil
	}
	if s.generate {
		return ending{}, refuse("continue_final_message with add_generation_prompt")
	}
	last.Set("content", words+goesOn)
	return ending{cut: true}, nil
}

func (e ending) of(text string) (Text, error) {
	if !e.cut {
		return Text{Text: text, Then: e.then}, nil
	}
	at := strings.LastIndex(text, strings.TrimSpace(goesOn))
	if at < 0 {
		return Text{}, refuse("continue_final_message: the template leaves the last message out")
	}
	if strings.HasPrefix(text[at:], goesOn) {
		return Text{Text: text[:at]}, nil
	}
	return Text{Text: chattemplate.TrimRight(text[:at])}, nil
}
