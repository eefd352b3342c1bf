package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
)

// Rank returns what would help most.
func Rank(ctx context.Context, api API, progress string) (string, error) {
	p, err := api.profileOf(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := p.WriteAnswer(&text, progress); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), profile.ErrInvalid.Error()+": "))
	}
	var out page
	out.lines("the answer", text.String())
	if point, metric, best, err := p.Candidates(progress, 1); err == nil && len(best) > 0 {
		out.left("measured of %s, %s; next: explain %q", point, metric, best[0].Region.Name)
	}
	return out.String(), nil
}

// WhatIf returns what would be if one region were faster.
func WhatIf(ctx context.Context, api API, name string) (string, error) {
	p, err := api.profileOf(ctx)
	if err != nil {
		return "", err
	}
	all := p.Curves
	p.Curves = slices.DeleteFunc(slices.Clone(all), func(c profile.Curve) bool { return c.Region.Name != name })
	if len(p.Curves) == 0 {
		var names []string
		for _, c := range all {
			if !slices.Contains(names, c.Region.Name) {
				names = append(names, c.Region.Name)
			}
		}
		return "", fmt.Errorf("region %q: must be one that has been asked about: %s", name, oneOf(names))
	}
	// The speed-ups that a person asks about, and what the whole rests on.
	var text strings.Builder
	if err := p.WriteTable(&text); err != nil {
		return "", err
	}
	var out page
	out.lines("the profile", text.String())
	return out.String(), nil
}

// oneOf lists names, some of many.
func oneOf(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "there is none yet"
	}
	var some []string
	for _, name := range names[:min(len(names), most)] {
		some = append(some, naming.Cut(name, mostBytes/most/2))
	}
	list := strings.Join(some, ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return list
}
