package email

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"punctual/notify"
)

// step is a part of an SMTP transaction.
type step string

const (
	stepCompose  step = "compose"
	stepMail     step = "MAIL FROM"
	stepRcpt     step = "RCPT TO"
	stepData     step = "DATA"
	stepContent  step = "content"
	stepAccepted step = "end of mail"
)

// sendError is a transaction that failed in a step.
type sendError struct {
	step step
	code int    // of the server's reply; 0: there was none
	to   string // the recipient that the server refused; "": none
	err  error
}

func (e *sendError) Error() string {
	if e.step == stepCompose {
		return e.reply()
	}
	return fmt.Sprintf("%s: %s", e.step, e.reply())
}

// reply returns what the server replied, or the error if it did not.
func (e *sendError) reply() string {
	text := e.err.Error()
	if reply, ok := errors.AsType[*textproto.Error](e.err); ok { // textproto quotes the reply
		text = fmt.Sprintf("%03d %s", reply.Code, reply.Msg)
	}
	return headerText(text) // replies can have several lines
}

func (e *sendError) Unwrap() error { return e.err }

// enhanced finds the enhanced status code at the beginning of a reply (RFC 2034).
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// gone reports whether the server refused a recipient whose address does not exist.
func (e *sendError) gone() bool {
	reply, ok := errors.AsType[*textproto.Error](e.err)
	return ok && e.to != "" && e.code >= 500 && notify.AddressGone(enhanced.FindString(reply.Msg))
}

func failed(s step, err error) *sendError {
	e := &sendError{step: s, err: err}
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		e.code = reply.Code
	}
	return e
}

// command is a line of a transaction and the reply code that accepts it.
type command struct {
	step   step
	line   string
	expect int
	to     string // the recipient that it names
}

// transact sends m over c and returns the first step that failed. After a reply with an error, a
// RSET makes c usable for another mail. refused are the recipients whose address does not exist: the
// others get the mail.
//
// If the server offers PIPELINING (RFC 2920), the commands before the content share one round trip.
// A mail with several recipients is not pipelined: the server may accept DATA after it rejected some
// of them for now, and then the others would get the mail again with each retry.
func transact(c *smtp.Client, m *mail.Msg) (refused []*sendError, _ *sendError) {
	commands, err := commandsFor(c, m)
	if err != nil {
		return nil, failed(stepCompose, err)
	}
	group, recipients := 1, len(commands)-2
	if offered, _ := c.Extension("PIPELINING"); offered && recipients == 1 {
		group = len(commands)
	}
	for ; len(commands) > 0; commands = commands[group:] {
		e := exchange(c, commands[:group])
		if e != nil && e.gone() {
			refused = append(refused, e)
			if len(refused) < recipients {
				continue
			}
		}
		if e != nil {
			return refused, e
		}
	}
	return refused, content(c, m)
}

func content(c *smtp.Client, m *mail.Msg) *sendError {
	w := c.Text.DotWriter()
	if _, err := m.WriteTo(w); err != nil {
		return &sendError{step: stepContent, err: err} // the mail is incomplete: the connection must end
	}
	if err := w.Close(); err != nil {
		return failed(stepAccepted, err)
	}
	if _, _, err := c.Text.ReadResponse(250); err != nil {
		return failed(stepAccepted, err)
	}
	return nil
}

func commandsFor(c *smtp.Client, m *mail.Msg) ([]command, error) {
	from, err := m.GetSender(false)
	if err != nil {
		return nil, err
	}
	to, err := m.GetRecipients()
	if err != nil {
		return nil, err
	}
	line := "MAIL FROM:" + from
	if ok, _ := c.Extension("8BITMIME"); ok {
		line += " BODY=8BITMIME"
	}
	if ok, _ := c.Extension("SMTPUTF8"); ok {
		line += " SMTPUTF8"
	}
	commands := []command{{step: stepMail, line: line, expect: 250}}
	for _, address := range to {
		commands = append(commands, command{step: stepRcpt, line: "RCPT TO:" + address, expect: 25, to: strings.Trim(address, "<>")})
	}
	commands = append(commands, command{step: stepData, line: "DATA", expect: 354})
	for _, command := range commands {
		if strings.ContainsAny(command.line, "\r\n") {
			return nil, errors.New("an address contains a line break")
		}
	}
	return commands, nil
}

// exchange sends the commands at once, reads a reply to each, and returns the first failure.
func exchange(c *smtp.Client, commands []command) (first *sendError) {
	for _, command := range commands {
		c.Text.W.WriteString(command.line) // Flush returns the error
		c.Text.W.WriteString("\r\n")
	}
	if err := c.Text.W.Flush(); err != nil {
		return failed(commands[0].step, err)
	}
	for _, command := range commands {
		_, _, err := c.Text.ReadResponse(command.expect)
		switch e := failed(command.step, err); {
		case err == nil && command.step == stepData && first != nil:
			// The server waits for the content of a mail that has no recipient. RFC 2920 ends it empty.
			if endEmpty(c) != nil {
				return first
			}
		case err == nil:
		case first == nil && e.code == 0:
			return e
		case first == nil:
			e.to = command.to
			first = e
		case e.code == 0: // the connection ended after the reply that counts
			return first
		}
	}
	return first
}

// endEmpty ends a mail without content. Its reply does not matter, but the next one must follow it.
func endEmpty(c *smtp.Client) error {
	if err := c.Text.PrintfLine("."); err != nil { // a DotWriter would add an empty line
		return err
	}
	_, _, err := c.Text.ReadResponse(250)
	if _, ok := errors.AsType[*textproto.Error](err); ok {
		return nil
	}
	return err
}
