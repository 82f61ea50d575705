package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	"punctual/app/config"
)

// examineCertificate looks at the certificate of http.tls, which somebody has to renew.
func examineCertificate(c config.TLS, now time.Time) []Finding {
	switch {
	case len(c.ACME.Domains) > 0:
		return ok("obtained and renewed by ACME")
	case !c.Enabled():
		return ok("this process answers plain HTTP")
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return failure("Correct http.tls.cert_file and http.tls.key_file.", "%v", err)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return failure("Correct http.tls.cert_file.", "%s: %v", c.CertFile, err)
	}
	const advice = "Renew the certificate; a running server reads the new files by itself."
	left := cert.NotAfter.Sub(now)
	switch until := cert.NotAfter.UTC().Format(time.DateOnly); {
	case left <= 0:
		return failure(advice, "expired on %s", until)
	case left < renewBefore:
		return warning(advice, "expires on %s", until)
	default:
		return ok("valid until %s", until)
	}
}

const renewBefore = 14 * 24 * time.Hour

// examineServer asks the server on this machine whether it is ready. None is no fault: doctor may run
// before the first start.
func examineServer(ctx context.Context, c config.HTTP) []Finding {
	answer, err := Ask(ctx, c, "/readyz")
	if err != nil {
		return ok("no server answers on %s", c.Addr)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return ok("ready on %s", c.Addr)
	}
	var problem struct{ Detail string }
	_ = json.NewDecoder(answer.Body).Decode(&problem)
	return failure("Wait for the first start to finish, or look into the log.", "the server on %s is not ready: %s", c.Addr, cmp.Or(problem.Detail, answer.Status))
}

// Ask sends a GET request to the server with these settings on this machine. It does not check the
// certificate, whose name is not that of the local address. The caller closes the body.
func Ask(ctx context.Context, c config.HTTP, path string) (*http.Response, error) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLS.Enabled() {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{InsecureSkipVerify: true}
	if domains := c.TLS.ACME.Domains; len(domains) > 0 {
		secure.ServerName = domains[0] // other names have no certificate
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	return client.Do(request)
}

func portText(port int) string { return strconv.Itoa(cmp.Or(port, 587)) }
