// Package web carries the page: the files that `npm run build` makes of the Svelte source in
// this folder. It knows nothing of the server; it only hands out files.
package web

import (
	"embed"
	"io/fs"
)

// dist holds at least .gitkeep, so that the program builds before the page does.
//
//go:embed all:dist
var dist embed.FS

// FS returns the built page: index.html for every path of the application, door.html for the
// screens at doors with door-worker.js beside it, docs.html for the description of the API, and
// under assets/ files whose names change with their content, so that they may be cached for ever.
func FS() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only for an invalid path, and this one is constant
	}
	return sub
}

// Built tells whether the page was built before the program was. If not, [FS] has no
// index.html.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}
