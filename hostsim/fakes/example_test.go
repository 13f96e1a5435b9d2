package fakes_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/pointsman/pointsman/hostsim/fakes"
)

func ExampleStartFleet() {
	fleet, err := fakes.StartFleet(fakes.Replicate(fakes.Config{Dialect: fakes.SGLang}, 2)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.StopAll()

	engine, _ := fleet.Engine("engine-1")
	body := strings.NewReader(`{"model":"demo","prompt":"which way","max_tokens":4}`)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, engine.URL()+"/v1/completions", body)
	if err != nil {
		fmt.Println(err)
		return
	}
	var client http.Client
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()

	fmt.Println(res.Status, "from", res.Header.Get("x-fake-engine"))
	fmt.Println(fleet.Received())
	// Output:
	// 200 OK from engine-1
	// map[engine-0:0 engine-1:1]
}
