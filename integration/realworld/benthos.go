package main

// benthos is Redpanda's stream processor with a workflow of two branches side by side and one after
// them. Four threads of its pipeline serve the eight clients.
func benthos() program {
	return program{
		name: "benthos", about: "a stream of Benthos, a workflow of three branches by four threads; eight clients in another process",
		ports:    1,
		url:      func(ports []string, _ int) string { return "http://127.0.0.1:" + ports[0] + "/post" },
		body:     func(int) string { return `{"order":"book"}` },
		progress: "input_http_server_post",
		regions:  []region{{span: "price", delay: "price"}, {span: "stock", delay: "stock"}, {span: "ship", delay: "ship"}},
	}
}
