// Package planserver hands one plan to a fleet: over HTTP to instances that poll, over OpAMP to
// those that poll or keep a WebSocket open. It is what "otelprof plan serve" runs, and meant for
// trying plans out and for small fleets; a large one has an OpAMP server already.
//
//	GET    /v1/plan        the plan, with ETag and signature; 304 if it is known, 204 if there is none
//	PUT    /v1/plan        replaces it; 422 with the reasons if it is not valid, 409 if its generation is not above the last
//	                       one; then the one before stays. With ?force=1 it is handed out unseen.
//	DELETE /v1/plan        ends it, on all instances
//	GET    /v1/instances   the instances, what they were given and what became of it, see [Fleet]
//	POST   /v1/opamp       OpAMP, protobuf over HTTP
//	GET    /v1/opamp       OpAMP over a WebSocket, by which a change is pushed at once
//
// In OpAMP the plan is the part "causal-plan" of the remote configuration and its signature the
// part "causal-plan.sig"; no parts mean no plan.
//
// A plan that an instance reports as aborted is withdrawn from all, [Fleet.Withdrawn]. What aborted
// it does not take it again; the operator may push another one.
//
// # Safety
//
// To push a plan, or to stop one, is a right of its own, that of [WithToken] or [WithAdmins]: no
// instance has it, with any certificate or token of instances, and a server without the two takes
// no plan over the network. The server listens on loopback; any other address takes TLS, and a
// token of the instances or client certificates. What instances report of themselves is not
// verified. Only known Host headers are answered, which prevents DNS rebinding, and writes from
// another origin's page are refused (CSRF). What is read is bounded in size and time: a message of
// any length costs less than 1 MiB. Instances check a plan again, and its signature if they have a
// key; the server has no key and cannot make a plan.
//
// Nothing outlives the server: a new one begins without a plan, and answers so.
package planserver
