package server_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/register"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/stretchr/testify/require"
)

// orders remembers what it was told and answers as the test says.
type orders struct {
	got     []string
	outcome register.Outcome
	err     error
}

func (o *orders) Register(w config.Worker) (register.Outcome, error) {
	o.got = append(o.got, "register "+w.Endpoint.HostPort()+" "+w.ID)
	return o.outcome, o.err
}

func (o *orders) Remove(id string) (register.Outcome, error) {
	o.got = append(o.got, "remove "+id)
	return o.outcome, o.err
}

func (o *orders) Drain(id string, drain bool) (register.Outcome, error) {
	o.got = append(o.got, map[bool]string{true: "drain ", false: "undrain "}[drain]+id)
	return o.outcome, o.err
}

func managedStage(t *testing.T, o *orders, token string) *stage {
	t.Helper()
	return newStageWith(t, func(c *config.Config) {
		c.Token, c.Discovery.HTTP.Enabled, c.Discovery.HTTP.Token = "sync", true, token
	}, func(opts *server.Options) { opts.Registry = o })
}

const (
	syncToken  = "Bearer sync"
	adminToken = "Bearer admin"
)

func TestManage_orders(t *testing.T) {
	o := &orders{outcome: register.Outcome{ID: "p/uid", Changed: true, Present: true, Worker: claims.Worker{
		Config:  config.Worker{ID: "p/uid", Endpoint: config.Addressed("10.0.0.1", 8000), Draining: true},
		Sources: []claims.Source{claims.Kubernetes, claims.HTTP}, DrainedBy: []string{claims.Operator},
	}}}
	s := managedStage(t, o, "admin")
	ask := func(method, path, body string, headers ...string) answer {
		return s.do(t, method, path, []byte(body), append(headers, "Authorization", adminToken)...)
	}
	a := ask(http.MethodPost, "/v1/workers", `{"address":"10.0.0.1:8000","id":"x"}`, contentType, "application/json; charset=utf-8")
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"id":"p/uid","changed":true,"present":true,"address":"10.0.0.1:8000","sources":["kubernetes","http"],"draining":true,
		"drained_by":["operator"],"note":"the worker is named by kubernetes; it can be drained here, and removed only there"}`, a.body)
	ask(http.MethodPost, "/v1/workers/p%2Fuid/drain", "")
	ask(http.MethodPost, "/v1/workers/p/uid/undrain", "")
	ask(http.MethodPost, "/v1/workers/[::1]:80/drain", "")
	o.outcome = register.Outcome{ID: "drain"}
	a = ask(http.MethodDelete, "/v1/workers/drain", "")
	require.JSONEq(t, `{"id":"drain","changed":false,"present":false,"sources":[],"draining":false,"drained_by":[]}`, a.body)
	require.Equal(t, []string{"register 10.0.0.1:8000 x", "drain p/uid", "undrain p/uid", "drain [::1]:80", "remove drain"}, o.got)
}

func TestManage_badOrders(t *testing.T) {
	o := &orders{}
	s := managedStage(t, o, "admin")
	for name, c := range map[string]struct {
		method, path, body, kind string
		err                      error
		status                   int
		want                     string
	}{
		"form":           {method: http.MethodPost, path: "/v1/workers", body: "address=x", kind: "application/x-www-form-urlencoded", status: 415, want: "send content-type application/json"},
		"not JSON":       {method: http.MethodPost, path: "/v1/workers", body: "{", status: 400, want: "not valid YAML"},
		"every problem":  {method: http.MethodPost, path: "/v1/workers", body: `{"rolle":"x","role":"both"}`, status: 400, want: `3 problems:\n  rolle: unknown key; did you mean role?`},
		"too large":      {method: http.MethodPost, path: "/v1/workers", body: string(make([]byte, 5000)), status: 413, want: "larger than 4096 bytes"},
		"no id":          {method: http.MethodDelete, path: "/v1/workers/", status: 400, want: "no worker's id"},
		"bad escape":     {method: http.MethodPost, path: "/v1/workers//drain", status: 400, want: "no worker's id"},
		"long id":        {method: http.MethodDelete, path: "/v1/workers/0123456789012345678901234567890123456789", status: 400, want: "no worker's id"},
		"no action":      {method: http.MethodPost, path: "/v1/workers/a/b", status: 404, want: "/drain or /undrain"},
		"other method":   {method: http.MethodPut, path: "/v1/workers/a", status: 405, want: "use DELETE or POST; POST /v1/workers/{id}/drain"},
		"unknown worker": {method: http.MethodPost, path: "/v1/workers/a/drain", err: register.ErrUnknown, status: 404, want: "unknown_worker"},
		"conflict":       {method: http.MethodDelete, path: "/v1/workers/a", err: &register.ConflictError{Reason: "named by static"}, status: 409, want: "named by static"},
		"not kept":       {method: http.MethodDelete, path: "/v1/workers/a", err: errors.New("disk full"), status: 500, want: "disk full"},
	} {
		t.Run(name, func(t *testing.T) {
			o.err = c.err
			kind := c.kind
			if kind == "" {
				kind = "application/json"
			}
			a := s.do(t, c.method, c.path, []byte(c.body), contentType, kind, "Authorization", adminToken)
			require.Equal(t, c.status, a.status, a.body)
			require.Contains(t, a.body, c.want)
		})
	}
}

// Reaching the port is not enough, nor is the token that every proxy has.
func TestManage_whoMayOrder(t *testing.T) {
	o := &orders{}
	s := managedStage(t, o, "admin")
	drain := func(headers ...string) int {
		return s.do(t, http.MethodPost, "/v1/workers/a/drain", nil, headers...).status
	}
	require.Equal(t, http.StatusUnauthorized, drain())
	require.Equal(t, http.StatusUnauthorized, drain("Authorization", syncToken))
	require.Empty(t, o.got)
	require.Equal(t, http.StatusOK, drain("Authorization", adminToken))
	require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/v1/workers", nil, "Authorization", adminToken).status, "who may change may read")
	require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/v1/workers", nil, "Authorization", syncToken).status)

	o = &orders{}
	s = managedStage(t, o, "")
	require.Equal(t, http.StatusUnauthorized, drain(), "on this machine the service's token is asked for still")
	for _, header := range []string{"Origin", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto"} {
		require.Equal(t, http.StatusForbidden, drain("Authorization", syncToken, header, "x"), header)
	}
	require.Empty(t, o.got)
	require.Equal(t, http.StatusOK, drain("Authorization", syncToken))
}

func TestManage_isOffByDefault(t *testing.T) {
	s := newStage(t, nil)
	a := s.do(t, http.MethodPost, "/v1/workers", []byte(`{"address":"10.0.0.1:1"}`), contentType, "application/json")
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.Contains(t, a.body, "workers are changed over HTTP only with discovery.http.enabled")
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodDelete, "/v1/workers/a", nil).status)
}
