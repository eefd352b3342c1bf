// Package login is a server of an application's own, with the viewer's page under a prefix, behind
// a login.
package login

import "net/http"

// Prefix is where the page is.
const Prefix = "/admin/otelprof"

// Behind returns a server of h under [Prefix], for clients that asked for /login before; others get
// status 401. Whatever else the server has is added to it.
func Behind(h http.Handler) *http.ServeMux {
	page := http.StripPrefix(Prefix, h)
	session := &http.Cookie{Name: "session", Value: "ann", Path: "/admin/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	mux := http.NewServeMux()
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, session)
		http.Redirect(w, r, Prefix+"/", http.StatusSeeOther)
	})
	mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(session.Name); err != nil || c.Value != session.Value {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
	return mux
}
