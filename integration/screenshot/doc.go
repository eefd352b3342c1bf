// Screenshot takes the pictures of the viewer: it runs the demo shop as a process of its own, waits
// until the causal profile has numbers, and looks at it in Chromium. By default it takes the
// README's picture, the overview; with -all every view, of the shop, of what it has saved, of a
// page under a prefix behind a login, and of programs that have nothing to show, light and dark,
// wide and narrow. It runs in the root of the repository, for one to five minutes.
package main
