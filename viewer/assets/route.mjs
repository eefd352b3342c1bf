// The address of a view. No access to the page.

/** parseRoute reads "#/sessions/ID?span=KEY". Without an id it is undefined; in "#/stacks/" it is "", which a region may be called. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/").map((p) => {
    try {
      return decodeURIComponent(p);
    } catch {
      return p;
    }
  });
  return { name: name || "overview", id, query: new URLSearchParams(query), path };
}
