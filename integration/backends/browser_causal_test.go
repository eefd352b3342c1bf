package backends

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func (p *page) click(t testing.TB, selector string) {
	t.Helper()
	p.until(t, "has "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](t, p, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
}

// write replaces the text of a field, as if a user had typed it.
func (p *page) write(t testing.TB, selector, text string) {
	t.Helper()
	p.until(t, "has "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](t, p, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`, selector, text))
}

// accessible looks at the page as it is, light and dark, wide and narrow.
func (p *page) accessible(t testing.TB, name string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			p.look(t, scheme, width)
			p.inspect(t, fmt.Sprintf("%s-%s-%d", name, scheme, width))
		}
	}
	p.look(t, "light", 1280)
}

// plan writes, checks, applies, watches and stops a plan through the page.
func (p *page) plan(t *testing.T, a *app) {
	const (
		text    = `textarea[aria-label="Plan document"]`
		apply   = ".plan-editor .primary"
		enabled = `!document.querySelector(".plan-editor .primary").disabled`
	)
	p.open(t, "#/causal")
	p.click(t, ".plan-editor > summary")
	p.until(t, "writes a plan for this program", fmt.Sprintf(`document.querySelector(%q).value.includes("checkout")`, text))
	p.until(t, "says what that plan costs", `document.querySelector(".plan-verdict").innerText.includes("delays at most 20s in total within 10m0s") || document.querySelector(".plan-verdict").innerText.includes("within 9m5")`)
	p.until(t, "can apply it", enabled)
	for _, title := range []string{"who", "examines", "measures", "how", "when", "experiments", "costs", "stops", "warnings"} {
		p.until(t, "explains "+title, fmt.Sprintf(`document.querySelector('.plan-check tr[data-title=%q] td').innerText.length > 5`, title))
	}
	p.accessible(t, "plan-editor")

	document := strings.NewReplacer("reserve stock", "price", "price cart", "pay", "POST /orders", "checkout").Replace(
		fmt.Sprintf(planText, time.Now().UnixNano(), time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339)))
	p.write(t, text, strings.Replace(document, "duty: 100%", "duty: 150%", 1))
	p.until(t, "says what is wrong", `document.querySelector(".plan-problems")?.innerText.includes("limits.duty 150%: must be in (0%, 100%]")`)
	p.until(t, "cannot apply that", fmt.Sprintf(`!(%s) && document.querySelector(%q).getAttribute("aria-invalid") === "true"`, enabled, text))
	p.accessible(t, "plan-problem")
	p.click(t, ".plan-problems button")
	if selected := eval[string](t, p, fmt.Sprintf("(() => { const e = document.querySelector(%q); return e.value.slice(e.selectionStart, e.selectionEnd); })()", text)); !strings.Contains(selected, "duty: 150%") {
		t.Errorf("the button of the problem selects %q, want the line with the duty", selected)
	}

	p.write(t, text, document)
	p.until(t, "can apply it", enabled)
	eval[bool](t, p, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.focus();
		e.setSelectionRange(3, 9);
		window.before = document.querySelector("#live").innerText;
		return true;
	})()`, text))
	p.until(t, "leaves alone who writes", fmt.Sprintf(`before !== document.querySelector("#live").innerText && (({value, selectionStart, selectionEnd}) => document.activeElement.value === value && selectionStart === 3 && selectionEnd === 9)(document.querySelector(%q))`, text))
	p.click(t, apply)
	p.until(t, "asks for the token", `!document.querySelector("form.token").hidden`)
	p.write(t, "form.token input", token)
	p.click(t, "form.token button")
	p.until(t, "runs the plan", `document.querySelector(".plan-status .state").innerText.includes("Running")`)
	p.until(t, "draws the experiments", `document.querySelectorAll(".experiments-svg .x-bar").length > 8`)
	p.until(t, "tells what the breaker sees", `[...document.querySelectorAll(".gauges dt")].some((e) => e.innerText === "Breaker: p99")`)
	p.click(t, ".experiments details > summary")
	p.until(t, "has a row for each", `document.querySelectorAll(".experiments-table tbody tr").length >= document.querySelectorAll(".experiments-svg circle.x-dot").length - 2`)
	p.accessible(t, "plan-running")

	p.click(t, "button.stop")
	p.until(t, "stops the plan", `document.querySelector(".plan-status .state").innerText.includes("Stopped")`)
	p.until(t, "marks the end", `[...document.querySelectorAll(".x-mark text")].some((e) => e.textContent.includes("stopped"))`)
	p.shoot(t, "plan-stopped")
	if state := a.Causal().Status().State; state == "running" {
		t.Errorf("state %q: want it stopped", state)
	}
	check(t, "browser_plan", "figure=1 plan checked, started, watched and stopped from the page, with the token asked for once")
}
