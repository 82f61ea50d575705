package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/wneessen/go-mail"

	"punctual/app/config"
	"punctual/notify/email"
)

func examineMail(ctx context.Context, c *config.Config) []Finding {
	switch c.Email.Driver {
	case "outbox":
		return warning("Set email.driver to smtp, with the server in email.smtp.", "mails are stored in data/outbox and not sent")
	case "smtp":
	default:
		return warning("Set email.driver to smtp, with the server in email.smtp.", "no mails are sent: email.driver is %s", c.Email.Driver)
	}
	s := server(c)
	at := net.JoinHostPort(s.Host, portText(s.Port))
	if err := email.Check(ctx, s); err != nil {
		return failure(mailAdvice(err), "%s: %v", at, err)
	}
	signedIn := "accepts connections"
	if s.Username != "" {
		signedIn = "accepts user " + s.Username
	}
	return ok("%s %s (%s)", at, signedIn, cmp.Or(s.TLS, "starttls"))
}

func server(c *config.Config) email.SMTP {
	s := c.Email.SMTP
	return email.SMTP{Host: s.Host, Port: s.Port, Username: s.Username, Password: s.Password, TLS: s.TLS, Connections: 1}
}

// mailAdvice says which setting an error is about.
func mailAdvice(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, misnamed := errors.AsType[x509.HostnameError](err)
	_, expired := errors.AsType[x509.CertificateInvalidError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case unknown || misnamed || expired:
		return "Set email.smtp.host to the name in the server's certificate, and install the certificate's authority on this machine."
	case plain:
		return "The server does not begin with TLS: set email.smtp.tls to starttls, or correct email.smtp.port."
	case unresolved:
		return "Correct email.smtp.host."
	case errors.Is(err, mail.ErrNoSupportedAuthDiscovered) || strings.Contains(err.Error(), "535"):
		return "Correct email.smtp.username and email.smtp.password."
	case strings.Contains(err.Error(), "STARTTLS"):
		return "The server offers no STARTTLS: set email.smtp.tls to tls, or correct email.smtp.port."
	default:
		return "Check email.smtp.host and email.smtp.port, and that no firewall blocks the connection."
	}
}
