package plan

import "testing"

func TestRegionPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern     RegionPattern
		scope, span string
		want        bool
		text        string
	}{
		{RegionPattern{}, "any", "thing", true, ""},
		{RegionPattern{Span: "get"}, "any", "get", true, "get"},
		{RegionPattern{Span: "get"}, "any", "set", false, "get"},
		{RegionPattern{Scope: "db"}, "db", "thing", true, "db:"},
		{RegionPattern{Scope: "db", Span: "get"}, "db", "get", true, "db:get"},
		{RegionPattern{Scope: "db", Span: "get"}, "cache", "get", false, "db:get"},
		{RegionPattern{Scope: "github.com/*", Span: "*"}, "github.com/a/b", "x", true, "github.com/*:*"},
		{RegionPattern{Scope: "?", Span: "*"}, "", "x", false, "?:*"},
	} {
		if got := tt.pattern.Match(tt.scope, tt.span); got != tt.want {
			t.Errorf("%#v.Match(%q, %q) = %t, want %t", tt.pattern, tt.scope, tt.span, got, tt.want)
		}
		if got := tt.pattern.String(); got != tt.text {
			t.Errorf("%#v.String() = %q, want %q", tt.pattern, got, tt.text)
		}
	}
}
