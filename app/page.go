package app

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/web"
)

// page serves the web page: its files, /docs, and index.html for every other path outside
// the API, which the page itself makes sense of.
func page(r *gin.Engine) {
	files := web.FS()
	r.GET("/docs", func(c *gin.Context) { serveFile(c, files, "docs.html") })
	r.HEAD("/docs", func(c *gin.Context) { serveFile(c, files, "docs.html") })
	r.NoRoute(func(c *gin.Context) {
		name := strings.TrimPrefix(path.Clean(c.Request.URL.Path), "/")
		isRead := c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
		switch {
		case !isRead, strings.HasPrefix(name, "api/"), name == "api":
			writeProblem(c, humaProblem(http.StatusNotFound, "There is nothing at this path.", nil))
		case name != "" && isFile(files, name):
			serveFile(c, files, name)
		case path.Ext(name) != "":
			writeProblem(c, humaProblem(http.StatusNotFound, "There is no such file.", nil))
		default:
			serveFile(c, files, "index.html")
		}
	})
}

// notBuilt stands in for the page in a program that was built without it.
const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Punctual</title>
<h1>Punctual</h1><p>The page was not built into this program: <code>make build</code> does that. The API works without it;
its description is <a href="/openapi.json">openapi.json</a>.</p></html>
`

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir() && !strings.HasPrefix(path.Base(name), ".")
}

// serveFile answers with an embedded file. Those under assets/ have their content in their
// name and may be kept for ever.
func serveFile(c *gin.Context, files fs.FS, name string) {
	body, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		c.Data(http.StatusOK, contentType(name), []byte(notBuilt))
		return
	}
	if err != nil {
		_ = c.Error(err)
		writeProblem(c, internalProblem())
		return
	}
	if strings.HasPrefix(name, "assets/") {
		c.Header("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		c.Header("Cache-Control", "no-cache")
	}
	c.Data(http.StatusOK, contentType(name), body)
}

// contentType goes by the name alone; the tables of the machine may differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json", ".map":
		return "application/json"
	case ".woff2":
		return "font/woff2"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
