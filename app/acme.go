package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/config"
)

// certificates obtains certificates by ACME (RFC 8555), and renews them. All instances share what it
// obtains, and answer challenges of each other.
type certificates struct {
	*autocert.Manager
	domains []string
	log     *slog.Logger
}

func newCertificates(c config.ACME, db *gorm.DB, log *slog.Logger) (*certificates, error) {
	client := &acme.Client{DirectoryURL: c.Directory, UserAgent: "punctual"}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("http.tls.acme.ca_file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("http.tls.acme.ca_file: %s has no certificate in PEM", c.CAFile)
		}
		client.HTTPClient = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	}
	return &certificates{
		Manager: &autocert.Manager{
			Prompt: autocert.AcceptTOS, Cache: certificateCache{db}, HostPolicy: autocert.HostWhitelist(c.Domains...), Email: c.Email, Client: client,
		},
		domains: c.Domains, log: log,
	}, nil
}

// config answers requests, and challenges of the type TLS-ALPN-01.
func (c *certificates) config() *tls.Config {
	t := c.TLSConfig()
	t.MinVersion = tls.VersionTLS12
	return t
}

// obtain obtains what is missing before the first visitor asks for it. Afterwards it is renewed while the
// server runs. It returns once each domain has a certificate.
func (c *certificates) obtain(ctx context.Context) error {
	for _, domain := range c.domains {
		for wait := time.Minute; ; wait = min(2*wait, time.Hour) {
			got, err := c.GetCertificate(&tls.ClientHelloInfo{ // of a client of today
				ServerName: domain, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
				SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			})
			if err == nil {
				c.log.Info("certificate ready", "domain", domain, "expires", got.Leaf.NotAfter)
				break
			}
			c.log.Error("obtaining a certificate failed", "domain", domain, "error", err, "retry_in", wait)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
	}
	return nil
}

type certificateRow struct {
	Name      string `gorm:"primaryKey"`
	Data      []byte // certificates, keys and challenges in the form of autocert
	UpdatedAt time.Time
}

func (certificateRow) TableName() string { return "certificates" }

// certificateCache is an [autocert.Cache] that all instances share.
type certificateCache struct{ db *gorm.DB }

func (c certificateCache) Get(ctx context.Context, name string) ([]byte, error) {
	var r certificateRow
	err := c.db.WithContext(ctx).Take(&r, "name = ?", name).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, autocert.ErrCacheMiss
	}
	return r.Data, err
}

func (c certificateCache) Put(ctx context.Context, name string, data []byte) error {
	return c.db.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&certificateRow{Name: name, Data: data, UpdatedAt: time.Now().UTC()}).Error
}

func (c certificateCache) Delete(ctx context.Context, name string) error {
	return c.db.WithContext(ctx).Delete(&certificateRow{}, "name = ?", name).Error
}
