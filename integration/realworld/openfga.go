package main

// openfga is the CNCF's server of relations, asked whether a user may view a document. It asks its
// storage, in memory but as slow as one across a network, several questions at a time.
func openfga() program {
	return program{
		name: "openfga", about: "OpenFGA, checks of one relation; eight clients in another process",
		ports: 1,
		url: func(ports []string, _ int) string {
			return "http://127.0.0.1:" + ports[0] + "/stores/01J00000000000000000000000/check"
		},
		body: func(int) string {
			return `{"tuple_key":{"user":"user:anne","relation":"viewer","object":"document:plan"}}`
		},
		progress: "Check",
		regions: []region{
			{span: "ReadUsersetTuples", delay: "ReadUsersetTuples"},
			{span: "Read", delay: "Read"},
			{span: "ReadUserTuple", delay: "ReadUserTuple"},
		},
	}
}
