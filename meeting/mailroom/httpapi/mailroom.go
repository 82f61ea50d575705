// Package httpapi shows administrators the mails that rooms received.
package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/meeting/mailroom"
)

// Register adds the operations to api. The table in package account decides who may call them.
// There are no further rules per mail.
func Register(api huma.API, p *mailroom.Process) {
	h := &handlers{p}
	op := func(id, method, path, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Mailroom"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity),
		}
	}
	const one = "/mailroom/messages/{id}"
	huma.Register(api, op("list-mails", http.MethodGet, "/mailroom/messages", "List the mails that rooms received, newest first"), h.list)
	receive := op("receive-mail", http.MethodPost, "/mailroom/messages", "Receive a mail, or try what would become of it")
	receive.Description = "A mail that was received before is not stored again, and `items` omits it."
	huma.Register(api, receive, h.receive)
	huma.Register(api, op("get-mail", http.MethodGet, one, "Get a mail", http.StatusNotFound), h.get)
	huma.Register(api, op("process-mail", http.MethodPost, one+"/process", "Release a mail from quarantine, or retry one that failed",
		http.StatusNotFound, http.StatusConflict), h.process)
}

type handlers struct{ *mailroom.Process }

// Mail is a mail for one recipient.
type Mail struct {
	ID          int64        `json:"id"`
	Source      string       `json:"source" enum:"lmtp,imap,upload" doc:"How the mail came; lmtp includes SMTP"`
	Sender      *string      `json:"sender" doc:"Sender of the envelope"`
	Recipient   string       `json:"recipient" example:"turing@rooms.example.org"`
	From        *string      `json:"from" doc:"Address in the From header; null if there is none, or several"`
	Subject     string       `json:"subject"`
	MessageID   *string      `json:"message_id"`
	UID         *string      `json:"uid" doc:"UID of the event"`
	Method      *string      `json:"method" example:"REQUEST" doc:"Method of the calendar message"`
	Verdict     string       `json:"verdict" enum:"trusted,unauthenticated,not_organizer,not_attendee,too_many,loop,no_calendar,winmail,unreadable,too_complex"`
	Reason      *string      `json:"reason" doc:"Why the mail is not trusted"`
	State       string       `json:"state" enum:"new,done,outdated,refused,quarantined,dead"`
	Outcome     *MailOutcome `json:"outcome" doc:"What was done; null until the mail is processed"`
	LastError   *string      `json:"last_error"`
	Size        int64        `json:"size" doc:"In bytes"`
	Version     int64        `json:"version"`
	ReceivedAt  time.Time    `json:"received_at"`
	ProcessedAt *time.Time   `json:"processed_at"`
}

// MailOutcome is the result of processing a calendar message.
type MailOutcome struct {
	Reason     *string      `json:"reason" example:"unknown_sender" doc:"Why it was not processed; null if it was"`
	Text       *string      `json:"text" doc:"The reason for people"`
	Answers    []MailAnswer `json:"answers" nullable:"false"`
	MeetingIDs []int64      `json:"meeting_ids" nullable:"false"`
	SeriesID   *int64       `json:"series_id"`
}

// MailAnswer is what a room answered, for the whole event or for one date of a series.
type MailAnswer struct {
	Address string     `json:"address" doc:"The part before the @. Of a response to an invitation, the address of the attendee"`
	RoomID  *int64     `json:"room_id" doc:"null if no room was found"`
	Date    *string    `json:"date" example:"20270210T090000Z" doc:"Date of a series; null for the whole event"`
	Status  string     `json:"status" enum:"ACCEPTED,TENTATIVE,DECLINED"`
	Reason  *string    `json:"reason" example:"room_conflict"`
	Text    string     `json:"text" doc:"What the organizer reads"`
	Mail    *MailReply `json:"mail" doc:"The mail that would be sent; only of a dry run"`
}

// MailReply is the mail that carries an answer.
type MailReply struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Subject  string `json:"subject"`
	Text     string `json:"text"`
	Calendar string `json:"calendar" doc:"The iCalendar part"`
}

func view(m *mailroom.Mail) Mail {
	v := Mail{
		ID: m.ID, Source: string(m.Source), Sender: rest.OrNull(m.Sender), Recipient: m.Recipient, From: rest.OrNull(m.From), Subject: m.Subject,
		MessageID: rest.OrNull(m.MessageID), UID: rest.OrNull(m.UID), Method: rest.OrNull(m.Method), Verdict: string(m.Verdict), Reason: rest.OrNull(m.Reason),
		State: string(m.State), LastError: rest.OrNull(m.LastError), Size: m.Size, Version: m.Version,
		ReceivedAt: m.Received, ProcessedAt: rest.InstantOrNull(m.Processed),
	}
	var o mailroom.Outcome
	if len(m.Outcome) > 0 && json.Unmarshal(m.Outcome, &o) == nil {
		v.Outcome = viewOutcome(&o)
	}
	return v
}

func viewOutcome(o *mailroom.Outcome) *MailOutcome {
	v := &MailOutcome{
		Reason: rest.OrNull(o.Reason), Text: rest.OrNull(o.Text), SeriesID: rest.OrNull(o.SeriesID),
		Answers: make([]MailAnswer, len(o.Answers)), MeetingIDs: append([]int64{}, o.MeetingIDs...),
	}
	for i, a := range o.Answers {
		v.Answers[i] = MailAnswer{
			Address: a.Address, RoomID: rest.OrNull(a.RoomID), Date: rest.OrNull(a.Date), Status: a.Status, Reason: rest.OrNull(a.Reason), Text: a.Text,
		}
		if a.Mail != nil {
			v.Answers[i].Mail = new(MailReply(*a.Mail))
		}
	}
	return v
}

type mailsInput struct {
	State  string `query:"state" enum:"new,done,outdated,refused,quarantined,dead" doc:"Only mails in this state"`
	Q      string `query:"q" maxLength:"200" doc:"Text in the From address, recipient, subject or UID; ignores case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"40" doc:"The next_cursor of the previous page"`
}

type mailsOutput struct {
	Body struct {
		Items      []Mail  `json:"items" nullable:"false"`
		NextCursor *string `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) list(ctx context.Context, in *mailsInput) (*mailsOutput, error) {
	before, err := beforeOf(in.Cursor)
	if err != nil {
		return nil, err
	}
	ms, err := h.List(ctx, mailroom.Filter{State: mailroom.State(in.State), Text: strings.TrimSpace(in.Q), Before: before, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	out := &mailsOutput{}
	if len(ms) > in.Limit {
		ms = ms[:in.Limit]
		out.Body.NextCursor = new(cursorOf(ms[in.Limit-1]))
	}
	out.Body.Items = make([]Mail, len(ms))
	for i, m := range ms {
		out.Body.Items[i] = view(m)
	}
	return out, nil
}

const cursorPrefix = "mail:"

// cursorOf returns the cursor of the mails that are older than m.
func cursorOf(m *mailroom.Mail) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + strconv.FormatInt(m.ID, 10)))
}

// beforeOf returns the ID in a cursor, 0 if it is empty.
func beforeOf(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	text, ok := strings.CutPrefix(string(b), cursorPrefix)
	id, parseErr := strconv.ParseInt(text, 10, 64)
	if err != nil || !ok || parseErr != nil || id <= 0 {
		return 0, fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
	}
	return id, nil
}

type target struct {
	ID int64 `path:"id" minimum:"1"`
}

type getMailInput struct {
	ID  int64 `path:"id" minimum:"1"`
	Raw bool  `query:"raw" doc:"Also return the mail as it was received"`
}

type mailDetailOutput struct {
	Body struct {
		Mail
		Raw *string `json:"raw" doc:"The mail as it was received; bytes that are not UTF-8 are replaced; null unless raw=true"`
	}
}

func (h *handlers) get(ctx context.Context, in *getMailInput) (*mailDetailOutput, error) {
	m, err := h.Mail(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &mailDetailOutput{}
	out.Body.Mail = view(m)
	if in.Raw {
		out.Body.Raw = new(strings.ToValidUTF8(string(m.Raw), "\uFFFD"))
	}
	return out, nil
}

type mailOutput struct{ Body Mail }

func (h *handlers) process(ctx context.Context, in *target) (*mailOutput, error) {
	m, err := h.Release(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &mailOutput{view(m)}, nil
}

type receiveMailInput struct {
	Body struct {
		Raw       []byte `json:"raw" doc:"The mail as an .eml file has it, in base64"`
		Recipient string `json:"recipient,omitempty" maxLength:"320" doc:"Address of a room or site; if omitted, those in To and Cc" example:"turing@rooms.example.org"`
		DryRun    bool   `json:"dry_run,omitempty" doc:"Store, book and send nothing"`
	}
}

// ReceivedMail is the result of a mail for one recipient, or of its dry run.
type ReceivedMail struct {
	ID        *int64       `json:"id" doc:"ID of the stored mail; null in a dry run"`
	Recipient string       `json:"recipient"`
	Verdict   string       `json:"verdict" enum:"trusted,unauthenticated,not_organizer,too_many,loop,no_calendar,winmail,unreadable,too_complex"`
	Reason    *string      `json:"reason" doc:"Why the mail is not trusted"`
	State     string       `json:"state" enum:"new,done,outdated,refused,quarantined,dead"`
	Outcome   *MailOutcome `json:"outcome" doc:"Only of a dry run: what processing the mail would do, even if it is not trusted; null without a calendar message"`
}

type receiveMailOutput struct {
	Body struct {
		Items []ReceivedMail `json:"items" nullable:"false"`
	}
}

func (h *handlers) receive(ctx context.Context, in *receiveMailInput) (*receiveMailOutput, error) {
	recipients := []string{strings.ToLower(strings.TrimSpace(in.Body.Recipient))}
	known, err := h.Known(ctx, recipients[0])
	if recipients[0] == "" {
		recipients, err = h.Addressed(ctx, in.Body.Raw)
		known = len(recipients) > 0
	}
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fault.Invalid("body.recipient", "unknown", "must be the mail address of a room or a site of this installation")
	}
	e := mailroom.Envelope{Source: mailroom.Upload, Recipients: recipients}
	out := &receiveMailOutput{}
	out.Body.Items = []ReceivedMail{}
	if in.Body.DryRun {
		tried, err := h.Try(ctx, e, in.Body.Raw)
		if err != nil {
			return nil, err
		}
		for _, t := range tried {
			one := ReceivedMail{Recipient: t.Recipient, Verdict: string(t.Verdict), Reason: rest.OrNull(t.Reason), State: string(t.State)}
			if t.Outcome != nil {
				one.Outcome = viewOutcome(t.Outcome)
			}
			out.Body.Items = append(out.Body.Items, one)
		}
		return out, nil
	}
	ms, err := h.Receive(ctx, e, in.Body.Raw)
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		out.Body.Items = append(out.Body.Items, ReceivedMail{
			ID: &m.ID, Recipient: m.Recipient, Verdict: string(m.Verdict), Reason: rest.OrNull(m.Reason), State: string(m.State),
		})
	}
	return out, nil
}
