package main

import (
	"encoding/base64"
	"fmt"
)

// etcd is three members of the store in one process, which agree on each put by Raft. What comes
// while a message is under way goes along with the next one.
func etcd() program {
	return program{
		name: "etcd", about: "three members of etcd in one process, puts; eight clients in another",
		ports: 9,
		url:   func(ports []string, _ int) string { return "http://127.0.0.1:" + ports[0] + "/v3/kv/put" },
		body: func(n int) string {
			key := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "key-%d", n%100))
			return fmt.Sprintf(`{"key":%q,"value":"cmVhbA=="}`, key)
		},
		progress: "/etcdserverpb.KV/Put",
		regions:  []region{{span: "link", delay: "link"}, {span: "admit", delay: "admit"}},
	}
}
