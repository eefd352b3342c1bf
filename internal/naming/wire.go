package naming

// HeaderSignature is the header with the signature of the plan in an answer's body, or in that of a
// request which pushes one.
const HeaderSignature = "Otelprof-Plan-Signature"

// Headers that name a process to a server of plans.
const (
	HeaderServiceName       = "Otelprof-Service-Name"
	HeaderServiceInstanceID = "Otelprof-Service-Instance-Id"
)

// Headers that report to a server what became of the plan that it gave last, which If-None-Match
// names. A server may do without them.
const (
	// HeaderState is what the controller is doing and why: "running", "stopped: …".
	HeaderState = "Otelprof-State"
	// HeaderPlanStatus is one of the statuses below; it is not sent where no plan has come.
	HeaderPlanStatus = "Otelprof-Plan-Status"
	// HeaderPlanError is why the plan was refused.
	HeaderPlanError = "Otelprof-Plan-Error"
)

// The values of [HeaderPlanStatus].
const (
	PlanApplied  = "applied"
	PlanApplying = "applying" // it waits for its time
	PlanFailed   = "failed"
)

// HeaderMachine is the header in which a viewer describes the machine, as JSON, beside an execution
// trace.
const HeaderMachine = "Otelprof-Machine"

// Entries of an OpAMP server's remote configuration.
const (
	OpAMPPlan      = "causal-plan"
	OpAMPSignature = "causal-plan.sig"
)
