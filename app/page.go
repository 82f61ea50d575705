package app

import (
	"bytes"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"

	"punctual/app/problem"
	"punctual/web"
)

// page serves the web page: its files, /docs, the screens at doors, and index.html for every other
// path outside the API, which the page itself routes. It returns the handler of index.html.
func page(r *gin.Engine) (index gin.HandlerFunc) {
	files := newPageFiles(web.FS())
	index = func(c *gin.Context) { files.serve(c, "index.html") }
	docs := func(c *gin.Context) {
		c.Header("Content-Security-Policy", docsSecurityPolicy)
		files.serve(c, "docs.html")
	}
	r.GET("/docs", docs)
	r.HEAD("/docs", docs)
	door := func(c *gin.Context) { files.serve(c, "door.html") }
	for _, path := range []string{"/door", "/door/:room"} {
		r.GET(path, door)
		r.HEAD(path, door)
	}
	r.GET("/", index) // calendar programs have another method of this path, so NoRoute does not see it
	r.HEAD("/", index)
	r.NoRoute(func(c *gin.Context) {
		name := strings.TrimPrefix(path.Clean(c.Request.URL.Path), "/")
		isRead := c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
		switch {
		case !isRead, isReserved(name):
			problem.Write(c, problem.OfStatus(http.StatusNotFound, "There is nothing at this path.", nil))
		case files[name] != nil:
			files.serve(c, name)
		case path.Ext(name) != "":
			problem.Write(c, problem.OfStatus(http.StatusNotFound, "There is no such file.", nil))
		default:
			index(c)
		}
	})
	return index
}

// reserved are the first parts of paths that programs ask for. The page has no views there.
var reserved = []string{"api", "healthz", "readyz", "metrics", "dav", ".well-known"}

// isReserved reports whether a path is for programs, ignoring case. Unknown paths there are not the
// page's: a probe of /readyz/ must not find the server ready because the page answers.
func isReserved(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.ContainsFunc(reserved, func(s string) bool { return strings.EqualFold(first, s) })
}

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Punctual</title>
<h1>Punctual</h1><p>The page was not built into this program: <code>make build</code> does that. The API works without it;
its description is <a href="/openapi.json">openapi.json</a>.</p></html>
`

type pageFile struct {
	contentType  string
	cacheControl string
	body         []byte
	zipped       func() []byte // compressed on first use; nil: not worth it
}

type pageFiles map[string]*pageFile

// newPageFiles reads all files. Names under assets/ contain a hash of the content, so clients may
// cache these files indefinitely.
func newPageFiles(fsys fs.FS) pageFiles {
	files := pageFiles{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		body, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		cacheControl := "no-cache"
		if strings.HasPrefix(name, "assets/") {
			cacheControl = "public, max-age=31536000, immutable"
		}
		files[name] = newPageFile(contentType(name), cacheControl, body)
		return nil
	})
	if err != nil {
		panic(err) // the files are a part of the program
	}
	for _, name := range []string{"index.html", "door.html", "docs.html"} {
		if files[name] == nil {
			files[name] = newPageFile(contentType(name), "no-cache", []byte(notBuilt))
		}
	}
	return files
}

func newPageFile(contentType, cacheControl string, body []byte) *pageFile {
	f := &pageFile{contentType: contentType, cacheControl: cacheControl, body: body}
	if len(body) > 1024 && !strings.HasPrefix(contentType, "font/") {
		f.zipped = sync.OnceValue(func() []byte { return zip(body) })
	}
	return f
}

func zip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // writing to a buffer never fails
	_ = w.Close()
	return b.Bytes()
}

func (files pageFiles) serve(c *gin.Context, name string) {
	f := files[name]
	c.Header("Cache-Control", f.cacheControl)
	body := f.body
	if f.zipped != nil {
		c.Header("Vary", "Accept-Encoding")
		if takesGzip(c.GetHeader("Accept-Encoding")) {
			c.Header("Content-Encoding", "gzip")
			body = f.zipped()
		}
	}
	c.Data(http.StatusOK, f.contentType, body)
}

// contentType depends only on the name, because the tables of machines differ.
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
	case ".webmanifest":
		return "application/manifest+json"
	case ".png":
		return "image/png"
	case ".woff2":
		return "font/woff2"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
