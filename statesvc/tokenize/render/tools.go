package render

import (
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
)

// tools gives templates the tools in the order in which the engine's own classes write
// a function. A tool is taken only if it has just the members whose writing does not
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
	order := []string{"name", "description", "parameters"}
	if r.engine == SGLang {
		order = []string{"description", "name", "parameters"}
	}
	written := chattemplate.NewDict()
	for _, key := range order {
		member, ok := function.Get(key)
		if !ok {
			return nil, refuse("a tool that has not just name, description and parameters")
		}
		written.Set(key, member)
	}
	if r.engine == SGLang {
		written.Set("strict", false)
		return written, nil
	}
	out := chattemplate.NewDict()
	out.Set("type", kind)
	out.Set("function", written)
	return out, nil
}
