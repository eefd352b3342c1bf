// The keyboard, for all views.

const views = { 1: "overview", 2: "regions", 3: "sessions", 4: "causal", 5: "stacks", 6: "compare" };

/** rowsIn returns the rows that j and k walk over: the elements marked data-row. */
function rowsIn() {
  return [...document.querySelectorAll("#main [data-row]")].filter((el) => el.offsetParent !== null);
}

function moveRow(by) {
  const rows = rowsIn();
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
}

const opens = (link) => link && (() => { location.hash = link.hash; });

/**
 * bindKeys listens on the document. A view may have key(event), which returns true for
 * what it has handled, and back(), called for Escape.
 */
export function bindKeys({ view, togglePause }) {
  const help = document.getElementById("keys");
  document.getElementById("help").addEventListener("click", () => help.showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const { target } = event;
    const typing = target.matches("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape") {
      if (typing) target.blur();
      else view().back?.();
      return;
    }
    if (typing || target.closest("dialog")) return;
    if (view().key?.(event)) {
      event.preventDefault();
      return;
    }
    const action = {
      j: () => moveRow(1), ArrowDown: () => moveRow(1),
      k: () => moveRow(-1), ArrowUp: () => moveRow(-1),
      p: togglePause,
      "?": () => help.showModal(),
      "/": () => document.querySelector("#main [data-filter]")?.focus(),
    }[event.key] ?? opens(document.querySelector(`nav [data-view="${views[event.key]}"]`));
    if (!action || (event.key.startsWith("Arrow") && rowsIn().length === 0)) return;
    event.preventDefault();
    action();
  });
}
