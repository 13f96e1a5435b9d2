package render

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
)

// conversation makes the template's messages of a request's.
type conversation struct {
	*Renderer
	features prompt.Features // that the messages use
	answers  int             // of tools
}

func (c *conversation) messages(raw string) (*chattemplate.List, error) {
	list := &chattemplate.List{}
	var err error
	gjson.Parse(raw).ForEach(func(_, m gjson.Result) bool {
		var d *chattemplate.Dict
		d, err = c.message(m)
		list.Items = append(list.Items, d)
		return err == nil
	})
	return list, err
}

// message keeps the members that both engines give to templates, where they have a
// value.
func (c *conversation) message(m gjson.Result) (*chattemplate.Dict, error) {
	if !m.IsObject() {
		return nil, refuse("a message is no object")
	}
	d := chattemplate.NewDict()
	role := ""
	d.Set("role", nil)
	d.Set("content", "")
	var err error
	m.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "role":
			role = v.Str
			d.Set("role", v.Str)
		case "content":
			err = c.content(d, v)
		default:
			err = c.other(d, key.Str, v)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	switch role {
	case "system", "user", "assistant":
	case "tool":
		c.features |= prompt.Tools
		c.answers++
	default:
		return nil, refuse("a message of the role %.40q", role)
	}
	return d, checkRole(d, role)
}

// checkRole refuses members that an engine drops for some roles.
func checkRole(d *chattemplate.Dict, role string) error {
	for _, k := range d.Keys() {
		switch k {
		case "tool_calls", "reasoning", "reasoning_content":
			if role != "assistant" {
				return refuse("%s in a message of the role %s", k, role)
			}
		case "tool_call_id":
			if role != "tool" {
				return refuse("%s in a message of the role %s", k, role)
			}
		}
	}
	return nil
}

// content gives the template text, or parts if it goes through parts.
func (c *conversation) content(d *chattemplate.Dict, v gjson.Result) error {
	switch {
	case v.Type == gjson.String:
		d.Set("content", v.Str)
		if c.Renderer.content == chattemplate.ContentParts && c.engine == VLLM {
			d.Set("content", &chattemplate.List{Items: []chattemplate.Value{textPart(v.Str)}})
		}
		return nil
	case v.Type == gjson.Null:
		if c.Renderer.content != chattemplate.ContentString {
			return refuse("content null with a template that goes through parts")
		}
		return nil
	case !v.IsArray():
		return refuse("content that is neither text nor parts")
	}
	c.features |= prompt.Parts
	texts, err := textParts(v)
	if err != nil {
		return err
	}
	switch c.Renderer.content {
	case chattemplate.ContentUnclear:
		return refuse("content in parts with a template that may or may not go through them")
	case chattemplate.ContentParts:
		list := &chattemplate.List{}
		for _, t := range texts {
			list.Items = append(list.Items, textPart(t))
		}
		d.Set("content", list)
	case chattemplate.ContentString:
		between := "\n"
		if c.engine == SGLang {
			between = " "
		}
		d.Set("content", strings.Join(texts, between))
	}
	return nil
}

func textPart(text string) *chattemplate.Dict {
	d := chattemplate.NewDict()
	d.Set("type", "text")
	d.Set("text", text)
	return d
}

// textParts gives the texts of content in parts; images and the like are refused.
func textParts(v gjson.Result) (texts []string, err error) {
	v.ForEach(func(_, part gjson.Result) bool {
		text, isText := "", false
		ok := part.IsObject()
		part.ForEach(func(key, v gjson.Result) bool {
			switch {
			case key.Str == "type" && v.Str == "text":
				isText = true
			case key.Str == "text" && v.Type == gjson.String:
				text = v.Str
			default:
				ok = false
			}
			return ok
		})
		if !ok || !isText {
			err = refuse("a part of content that is not just text")
		}
		texts = append(texts, text)
		return err == nil
	})
	return texts, err
}

// other takes the members of a message beyond role and content.
func (c *conversation) other(d *chattemplate.Dict, key string, v gjson.Result) error {
	if v.Type == gjson.Null {
		return nil
	}
	switch key {
	case "name", "tool_call_id":
		if v.Type != gjson.String {
			return refuse("%s is no text", key)
		}
		d.Set(key, v.Str)
		return nil
	case "reasoning", "reasoning_content":
		if v.Type != gjson.String {
			return refuse("%s is no text", key)
		}
		return c.reasoning(d, v.Str)
	case "tool_calls":
		c.features |= prompt.Tools
		calls, err := toolCalls(v)
		if calls != nil {
			d.Set(key, calls)
		}
		return err
	}
	return refuse("%.40q in a message", key)
}

// reasoning goes by two names, of which templates read one.
func (c *conversation) reasoning(d *chattemplate.Dict, text string) error {
	if other, ok := d.Get("reasoning_content"); ok && other != text {
		return refuse("reasoning and reasoning_content differ")
	}
	d.Set("reasoning_content", text)
	if c.engine == VLLM {
		d.Set("reasoning", text)
	}
	return nil
}

// toolCalls gives templates the arguments of calls as objects, as both engines do.
func toolCalls(v gjson.Result) (chattemplate.Value, error) {
	if !v.IsArray() {
		return nil, refuse("tool_calls is no list")
	}
	list := &chattemplate.List{}
	var err error
	v.ForEach(func(_, call gjson.Result) bool {
		var value chattemplate.Value
		if value, err = chattemplate.FromJSON(call); err != nil {
			err = refuse("tool_calls: %v", err)
			return false
		}
		err = openArguments(value)
		list.Items = append(list.Items, value)
		return err == nil
	})
	if len(list.Items) == 0 {
		return nil, err
	}
	return list, err
}

func openArguments(call chattemplate.Value) error {
	d, ok := call.(*chattemplate.Dict)
	if !ok {
		return refuse("a tool call is no object")
	}
	for _, k := range d.Keys() {
		if k != "id" && k != "type" && k != "function" {
			return refuse("%.40q in a tool call", k)
		}
	}
	f, _ := d.Get("function")
	function, ok := f.(*chattemplate.Dict)
	if !ok {
		return refuse("a tool call without a function")
	}
	arguments, _ := function.Get("arguments")
	text, ok := arguments.(string)
	if !ok {
		return refuse("the arguments of a tool call are no text")
	}
	if text == "" || !plainJSON(text) {
		return refuse("the arguments of a tool call are no JSON")
	}
	opened, err := chattemplate.FromJSON(gjson.Parse(text))
	if err != nil {
		return refuse("the arguments of a tool call: %v", err)
	}
	if _, ok := opened.(*chattemplate.Dict); !ok {
		return refuse("the arguments of a tool call are no object")
	}
	function.Set("arguments", opened)
	return nil
}

// plainJSON reports whether a text is valid JSON of a sane depth.
func plainJSON(text string) bool {
	return strings.Count(text, "{")+strings.Count(text, "[") < 10_000 && gjson.Valid(text)
}
