package server

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"

	"github.com/pointsman/pointsman/statesvc/board"
)

// page is the status page. html/template escapes every value for its place.
var page = template.Must(template.New("status").Funcs(template.FuncMap{"known": known}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Pointsman state service</title>
<style>
body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#222}
table{border-collapse:collapse}th,td{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}
.up,.full{color:#060}.down,.none{color:#a00}.unknown,.partial{color:#777}.n{text-align:right}
</style></head><body>
<h1>Pointsman state service</h1>
<p>{{.Version}}; {{if .Ready}}ready{{else}}not ready{{end}}; {{.Counts.Contexts}} filter contexts; snapshot {{.Counts.Version}}</p>
<table><tr><th>worker</th><th>address</th><th>models</th><th>role</th><th>health</th><th>in flight</th><th>running</th><th>waiting</th><th>KV tokens</th><th>load age</th>{{if .Index}}<th>KV events</th>{{end}}<th>trouble</th></tr>
{{range .Workers}}<tr><td>{{.ID}}</td><td>{{.Address}}</td>
<td>{{range .Models}}{{.}} {{end}}{{range .Adapters}}{{.Name}} {{end}}</td>
<td>{{.Role}}{{if .Draining}}, draining{{end}}</td><td class="{{.Health}}">{{.Health}}</td><td class="n">{{.Inflight}}</td>
{{with .Load}}<td class="n">{{known .Running}}</td><td class="n">{{known .Waiting}}</td><td class="n">{{known .KVUsed}}</td><td class="n">{{.AgeMillis}} ms</td>{{else}}<td class="n">?</td><td class="n">?</td><td class="n">?</td><td class="n">?</td>{{end}}
{{with .KV}}<td class="{{.Trust}}">{{.Trust}}{{if ne .Reason "none"}}, {{.Reason}}{{end}}</td>{{end}}<td>{{.ProbeError}} {{.LoadError}} {{.DescribeError}}</td></tr>
{{end}}</table>
<p><a href="/v1/workers">/v1/workers</a> {{if .Index}}<a href="/v1/index">/v1/index</a> {{end}}<a href="/readyz?verbose">/readyz?verbose</a> <a href="/metrics">/metrics</a></p>
</body></html>
`))

func known(n *uint64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatUint(*n, 10)
}

// pageRow is one engine of the page.
type pageRow struct {
	workerEntry
	KV *trustEntry // nil without an index
}

func (s *Server) pageRows() []pageRow {
	entries := s.entries()
	rows := make([]pageRow, 0, len(entries))
	for i := range entries {
		row := pageRow{workerEntry: entries[i]}
		if s.index != nil {
			trust, reason := s.index.Trust(string(row.ID))
			row.KV = &trustEntry{Worker: string(row.ID), Trust: trust.String(), Reason: reason}
		}
		rows = append(rows, row)
	}
	return rows
}

// statusPage is GET /.
func (s *Server) statusPage(w http.ResponseWriter, _ *http.Request) {
	var body bytes.Buffer
	err := page.Execute(&body, struct {
		Version string
		Ready   bool
		Counts  board.Counts
		Workers []pageRow
		Index   bool
	}{s.version, s.ready(), s.board.Counts(), s.pageRows(), s.index != nil})
	if err != nil {
		fail(w, http.StatusInternalServerError, internalError, "the page cannot be shown")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body.Bytes())
}
