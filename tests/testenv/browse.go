package testenv

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Browse calls an address as a browser does that knows nobody, with a form if there is one. It
// does not follow redirects.
func Browse(method, address string, form url.Values) (*Response, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, address, body)
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := plain.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	return &Response{Status: res.StatusCode, Header: res.Header, Body: content}, err
}
