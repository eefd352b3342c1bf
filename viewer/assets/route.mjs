// The address of a view. No access to the page.

/** parseRoute reads "#/sessions/ID?span=KEY". The id is undefined where there is none, and "" in "#/stacks/": a region may have that name. */
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
