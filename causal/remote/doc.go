// Package remote brings plans to a causal.Controller from outside the process: from a file
// ([NewFile]) or an HTTP server ([NewHTTP]). Package causal/remote/opamp adds OpAMP, apart since
// it needs protobuf. [Follow] joins a source and a controller:
//
//	source, err := remote.NewHTTP("https://plans.example.com/checkout", remote.WithTokenFile("/run/secrets/token"))
//	...
//	go remote.Follow(ctx, controller, source, remote.WithPublicKeys(key))
//
// A plan is in force while its source stands by it. It ends when the source has no plan any more,
// and when the source has not answered for the time of three polls. It ends too when what comes,
// from this source or another one, is not a plan, is not signed as it must be, or is refused by the
// controller: such a document asks for something else than what runs. Nothing is applied in part,
// and a plan that has ended is not begun again by the same document, from any source: that takes a
// change of it.
//
// # Signatures
//
// With [WithPublicKeys] only documents with a detached Ed25519 signature are applied, see [Sign].
// It is in the file PATH.sig, in the header Otelprof-Plan-Signature, or in an OpAMP configuration's
// part of its own. A signature proves the author of a plan; its audience, and that it is not an old
// one, the plan itself must say. So a signed one must have target.service and generation, and
// target.env if this process has an environment. A document whose plan has ended in this process is
// refused until it expires. What a new process can be given again is bounded by expires_at, an
// hour.
//
// # Cost
//
// A poll takes about 0.1 ms of CPU time, and at most 1 MiB of memory for an answer of any size.
// Nothing here runs on the application's goroutines.
package remote
