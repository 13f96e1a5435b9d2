package render

import (
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
)

// tools gives templates the tools as the engine's own classes write them (vLLM 0.32,
// SGLang 0.5.23; a release that does otherwise is found by comparing). A tool is taken only if it has just the members whose writing does not
// depend on the engine's release.
func (r *Renderer) tools(raw string) (chattemplate.Value, error) {
	if raw == "" {
		return nil, nil
	}
	v := gjson.Parse(raw)
	if !v.IsArray() {
		return nil, refuse("tools is no list")
	}
	list := &chattemplate.List{}
	var err error
	v.ForEach(func(_, tool gjson.Result) bool {
		var value chattemplate.Value
		value, err = r.tool(tool)
		list.Items = append(list.Items, value)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (r *Renderer) tool(raw gjson.Result) (chattemplate.Value, error) {
	v, err := chattemplate.FromJSON(raw)
	if err != nil {
		return nil, refuse("a tool: %v", err)
	}
	tool, ok := v.(*chattemplate.Dict)
	if !ok || tool.Len() != 2 {
		return nil, refuse("a tool with other members than type and function")
	}
	kind, _ := tool.Get("type")
	f, _ := tool.Get("function")
	function, ok := f.(*chattemplate.Dict)
	if !ok || kind != "function" || function.Len() != 3 {
		return nil, refuse("a tool that has not just name, description and parameters")
	}
	written := chattemplate.NewDict()
	for _, key := range []string{"name", "description", "parameters"} {
		member, ok := function.Get(key)
		if !ok {
			return nil, refuse("a tool that has not just name, description and parameters")
		}
		written.Set(key, member)
	}
	out := chattemplate.NewDict()
	out.Set("type", kind)
	out.Set("function", written)
	if r.engine == SGLang { // keeps the client's order within a function
		out.Set("function", function)
		out.Set("defer_loading", nil)
	}
	return out, nil
}
