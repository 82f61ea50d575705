package mailroom

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/textproto"
)

// A Report says that a mail could not be delivered (RFC 3464).
type Report struct {
	Proof  string   // X-Punctual-Report of the mail that it quotes; empty: it quotes none of ours
	Failed []Failed // recipients whose delivery failed for good
}

// Failed is a recipient that a report says did not get a mail.
type Failed struct {
	Recipients []string // the address of the mail, and that to which it was forwarded last
	Status     string   // enhanced status code, such as 5.1.1
	Diagnostic string   // what the receiving server said; empty: not given
}

// A Bouncer marks addresses that bounce.
type Bouncer interface {
	// Reported marks those of the addresses to which the mail with this proof was sent, and returns them. failed
	// has the reasons by address in lower case. An error means that the database failed.
	Reported(ctx context.Context, proof string, failed map[string]string) (marked []string, err error)
	// Gone reports whether a status code says that an address does not exist.
	Gone(status string) bool
}

// noteReport marks addresses that do not exist according to a report, and returns what it did. Anyone may have
// sent the report. It counts if it quotes the proof of a mail of ours, which replies to the mail do not repeat.
func (s *Service) noteReport(ctx context.Context, r *Report) (string, error) {
	failed := map[string]string{}
	for _, f := range r.Failed {
		if s.Bouncer.Gone(f.Status) {
			for _, address := range f.Recipients {
				failed[strings.ToLower(address)] = strings.TrimSpace(f.Status + " " + f.Diagnostic)
			}
		}
	}
	var marked []string
	if r.Proof != "" && len(failed) > 0 {
		var err error
		if marked, err = s.Bouncer.Reported(ctx, r.Proof, failed); err != nil {
			return "", err
		}
	}
	if len(marked) == 0 {
		return "is a delivery report that marks no address", nil
	}
	return fmt.Sprintf("is a delivery report: mails to %s bounce", strings.Join(marked, " and ")), nil
}

const (
	maxReport   = 64 << 10 // bytes of a part of a report
	maxReported = 100      // recipients of a report
)

// isReport reports whether a header is that of a delivery report.
func isReport(h *message.Header) bool {
	kind, params, _ := h.ContentType()
	return kind == "multipart/report" && strings.EqualFold(params["report-type"], "delivery-status")
}

// part reads a part of a delivery report. It ignores what it cannot read.
func (r *Report) part(kind string, body io.Reader) {
	in := bufio.NewReader(io.LimitReader(body, maxReport))
	switch kind {
	case "message/delivery-status", "message/global-delivery-status":
		for len(r.Failed) < maxReported {
			if _, err := in.Peek(1); err != nil {
				return
			}
			h, err := textproto.ReadHeader(in) // first about the mail, then about each recipient
			if strings.EqualFold(strings.TrimSpace(h.Get("Action")), "failed") {
				r.Failed = append(r.Failed, failedRecipient(&h))
			}
			if err != nil {
				return
			}
		}
	case "message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers":
		if r.Proof == "" {
			h, _ := textproto.ReadHeader(in)
			r.Proof = shown(h.Get("X-Punctual-Report"))
		}
	}
}

func failedRecipient(h *textproto.Header) Failed {
	status, _, _ := strings.Cut(strings.TrimSpace(h.Get("Status")), " ") // a comment may follow
	f := Failed{Status: shown(status), Diagnostic: shown(typed(h.Get("Diagnostic-Code")))}
	for _, field := range []string{"Original-Recipient", "Final-Recipient"} {
		if address := shown(strings.Trim(typed(h.Get(field)), "<>")); address != "" {
			f.Recipients = append(f.Recipients, address)
		}
	}
	return f
}

// typed returns the value of a field such as "rfc822; ada@example.org".
func typed(field string) string {
	kind, value, ok := strings.Cut(field, ";")
	if !ok {
		value = kind
	}
	return strings.TrimSpace(value)
}
