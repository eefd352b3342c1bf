package main

import (
	_ "embed" // for the template
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed plan.tmpl.yaml
var planText string

var planTemplate = template.Must(template.New("plan").Parse(planText))

// planLife is how long the plan is valid: an hour is the most, less a minute for clocks
// that disagree.
const planLife = time.Hour - time.Minute

// noPlan is in place of the name of a file where no experiments are wanted.
const noPlan = "off"

// preparePlan returns the path of the plan file, "" if a plan server is asked instead. A plan the
// user names is used as it is, and written only if it does not exist; the shop's own is written
// anew at every start, since a plan expires.
func preparePlan(given, dataDir string, now time.Time) (string, error) {
	if given == noPlan {
		return noPlan, nil
	}
	path := given
	if path == "" && (os.Getenv("OTELPROF_PLAN_URL") != "" || os.Getenv("OTELPROF_OPAMP_ENDPOINT") != "") {
		return "", nil
	}
	if path == "" {
		path = filepath.Join(planDir(dataDir), "plan.yaml")
	} else if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	text, err := renderPlan(now)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// planDir is the folder of the sources if the shop was started near them, for a file
// there is easier to find, and dataDir if not.
func planDir(dataDir string) string {
	for _, dir := range []string{".", "shop", filepath.Join("examples", "shop")} {
		if _, err := os.Stat(filepath.Join(dir, "plan.tmpl.yaml")); err == nil {
			return dir
		}
	}
	return dataDir
}

func renderPlan(now time.Time) (string, error) {
	var text strings.Builder
	err := planTemplate.Execute(&text, map[string]string{
		"ID":        fmt.Sprintf("shop-%d", now.Unix()),
		"ExpiresAt": now.Add(planLife).UTC().Format(time.RFC3339),
	})
	return text.String(), err
}
