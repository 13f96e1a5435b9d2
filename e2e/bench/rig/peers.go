package rig

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// StartNginx runs nginx with one worker process as a plain round-robin proxy.
func (r *Rig) StartNginx(engines *Engines) (*Target, error) {
	program := r.parts.Nginx
	if program == "" {
		var err error
		if program, err = exec.LookPath("nginx"); err != nil {
			return nil, fmt.Errorf("%w: run make bench-tools", err)
		}
	}
	addr, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.parts.Scratch, "nginx-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(nginxConfig(dir, addr, engines.Addrs)), 0o600); err != nil {
		return nil, err
	}
	t := &Target{Name: "nginx round robin", Addr: addr, ready: serves}
	return r.start(t, program, []string{"-p", dir, "-c", path, "-e", filepath.Join(dir, "error.log")}, nil)
}

func nginxConfig(dir, listen string, engines []string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("daemon off;\nworker_processes 1;\npid %s/pid;\nevents { worker_connections 4096; }", dir)
	if os.Geteuid() == 0 {
		line("user root;") // its folders belong to this user
	}
	line("http {\n  access_log off;\n  client_max_body_size 0;\n  client_body_buffer_size 2m;\n  keepalive_requests 1000000000;")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		line("  %s_temp_path %s/%s;", kind, dir, kind)
	}
	line("  upstream engines {\n    keepalive 64;\n    keepalive_requests 1000000000;")
	for _, e := range engines {
		line("    server %s;", e)
	}
	line("  }\n  server {\n    listen %s;", listen)
	line("    location / { proxy_pass http://engines; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; proxy_read_timeout 600s; }\n  }\n}")
	return b.String()
}

// StartSGLang runs sglang-router with a policy, its log at warnings.
func (r *Rig) StartSGLang(engines *Engines, policy string) (*Target, error) {
	return r.startRouter("sglang-router "+policy, filepath.Join(r.parts.SGLang, "python"),
		[]string{"-m", "sglang_router.launch_router", "--log-level", "warn", "--policy", policy}, engines)
}

// StartVLLM runs vllm-router with a policy, its log at warnings.
func (r *Rig) StartVLLM(engines *Engines, policy string) (*Target, error) {
	return r.startRouter("vllm-router "+policy, filepath.Join(r.parts.VLLM, "vllm-router"),
		[]string{"--log-level", "warning", "--policy", policy}, engines)
}

func (r *Rig) startRouter(name, program string, args []string, engines *Engines) (*Target, error) {
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%s is not installed (%w): run make bench-tools", name, err)
	}
	addr, err := freePort()
	if err != nil {
		return nil, err
	}
	metrics, err := freePort()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	_, metricsPort, _ := net.SplitHostPort(metrics)
	args = append(args, "--host", host, "--port", port, "--prometheus-port", metricsPort, "--worker-urls")
	for _, e := range engines.Addrs {
		args = append(args, "http://"+e)
	}
	return r.start(&Target{Name: name, Addr: addr, ready: serves}, program, args, nil)
}
