// Package sdkspan reads what the SDK's spans and tracers have beyond their API, or behind a lock
// that is not needed where we ask.
package sdkspan
