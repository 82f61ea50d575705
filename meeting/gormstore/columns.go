package gormstore

import (
	"database/sql"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// column is one column of meetings: what a meeting writes into it, and where its content is read to.
type column struct {
	name  string
	kind  string // of the database
	value func(m *meeting.Meeting) any
	into  func(m *meeting.Meeting) any // a destination for Scan
}

// columns of meetings that the store writes and reads. Besides them there are the id and the
// versions, which the database gives, and the organizer, who is read with all that is known of them.
var columns = []column{
	{"title", "text", func(m *meeting.Meeting) any { return m.Title }, func(m *meeting.Meeting) any { return &m.Title }},
	{"description", "text", func(m *meeting.Meeting) any { return m.Description }, func(m *meeting.Meeting) any { return &m.Description }},
	{"starts_at", "timestamptz", func(m *meeting.Meeting) any { return micro(m.Slot.Start) }, func(m *meeting.Meeting) any { return &m.Slot.Start }},
	{"ends_at", "timestamptz", func(m *meeting.Meeting) any { return micro(m.Slot.End) }, func(m *meeting.Meeting) any { return &m.Slot.End }},
	{"timezone", "text", func(m *meeting.Meeting) any { return m.Timezone }, func(m *meeting.Meeting) any { return &m.Timezone }},
	wallColumn("shown_start", func(m *meeting.Meeting) *time.Time { return &m.Shown.Start }),
	wallColumn("shown_end", func(m *meeting.Meeting) *time.Time { return &m.Shown.End }),
	{"organizer_id", "bigint", func(m *meeting.Meeting) any { return m.Organizer.UserID }, func(m *meeting.Meeting) any { return &m.Organizer.UserID }},
	{"status", "text", func(m *meeting.Meeting) any { return string(m.Status) }, func(m *meeting.Meeting) any { return &m.Status }},
	{"visibility", "text", func(m *meeting.Meeting) any { return string(m.Visibility) }, func(m *meeting.Meeting) any { return &m.Visibility }},
	{"approval_required", "boolean", func(m *meeting.Meeting) any { return m.Approval.Required }, func(m *meeting.Meeting) any { return &m.Approval.Required }},
	instantColumn("approval_deadline", func(m *meeting.Meeting) *time.Time { return &m.Approval.Deadline }),
	instantColumn("decided_at", func(m *meeting.Meeting) *time.Time { return &m.Approval.DecidedAt }),
	referenceColumn("decided_by", func(m *meeting.Meeting) *int64 { return &m.Approval.DecidedBy }),
	{"decision_comment", "text", func(m *meeting.Meeting) any { return m.Approval.Comment }, func(m *meeting.Meeting) any { return &m.Approval.Comment }},
	{"decision_reason", "text", func(m *meeting.Meeting) any { return m.Approval.Reason }, func(m *meeting.Meeting) any { return &m.Approval.Reason }},
	{"default_reminders", "boolean", func(m *meeting.Meeting) any { return m.DefaultReminders }, func(m *meeting.Meeting) any { return &m.DefaultReminders }},
	instantColumn("check_in_opens_at", func(m *meeting.Meeting) *time.Time { return &m.CheckIn.Opens }),
	instantColumn("no_show_at", func(m *meeting.Meeting) *time.Time { return &m.CheckIn.Until }),
	instantColumn("checked_in_at", func(m *meeting.Meeting) *time.Time { return &m.CheckedInAt }),
	instantColumn("started_at", func(m *meeting.Meeting) *time.Time { return &m.StartedAt }),
	instantColumn("ended_at", func(m *meeting.Meeting) *time.Time { return &m.EndedAt }),
	referenceColumn("series_id", func(m *meeting.Meeting) *int64 { return &m.SeriesID }),
	instantColumn("original_start", func(m *meeting.Meeting) *time.Time { return &m.OriginalStart }),
	wallColumn("original_wall", func(m *meeting.Meeting) *time.Time { return &m.OriginalWall }),
	{"created_at", "timestamptz", func(m *meeting.Meeting) any { return micro(m.CreatedAt) }, func(m *meeting.Meeting) any { return &m.CreatedAt }},
	{"updated_at", "timestamptz", func(m *meeting.Meeting) any { return micro(m.UpdatedAt) }, func(m *meeting.Meeting) any { return &m.UpdatedAt }},
}

// instantColumn may be NULL, which is the zero time.
func instantColumn(name string, field func(*meeting.Meeting) *time.Time) column {
	return column{name, "timestamptz",
		func(m *meeting.Meeting) any { return timestamp(*field(m)) },
		func(m *meeting.Meeting) any { return nullTime{field(m)} }}
}

// wallColumn is what clocks show, as text without an offset. It may be NULL, which is the zero time.
func wallColumn(name string, field func(*meeting.Meeting) *time.Time) column {
	return column{name, "text",
		func(m *meeting.Meeting) any { return wallText(*field(m)) },
		func(m *meeting.Meeting) any { return wallTime{field(m)} }}
}

func wallText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(clock.WallLayout + ".999999")
}

// wallTime scans what wallText wrote.
type wallTime struct{ to *time.Time }

func (w wallTime) Scan(v any) error {
	var text sql.NullString
	err := text.Scan(v)
	*w.to = time.Time{}
	if err == nil && text.Valid {
		*w.to, err = time.Parse(clock.WallLayout, text.String)
	}
	return err
}

// referenceColumn may be NULL, which is 0.
func referenceColumn(name string, field func(*meeting.Meeting) *int64) column {
	return column{name, "bigint",
		func(m *meeting.Meeting) any { return reference(*field(m)) },
		func(m *meeting.Meeting) any { return nullID{field(m)} }}
}

var (
	columnCount    = len(columns)
	meetingColumns = columnList("")
)

// columnList is "a, b, ..." with a prefix to each.
func columnList(prefix string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = prefix + c.name
	}
	return strings.Join(names, ", ")
}

// meetingValues are what m writes into columns.
func meetingValues(m *meeting.Meeting) []any {
	values := make([]any, len(columns))
	for i, c := range columns {
		values[i] = c.value(m)
	}
	return values
}

// meetingRow is the meeting in a {rows} of id and columns.
func (d dialect) meetingRow(m *meeting.Meeting, columns []column) row {
	r := row{"id": m.ID}
	for _, c := range columns {
		r.set(d, c.name, c.value(m))
	}
	return r
}

// set puts a parameter into a row; NULL is what is not there.
func (r row) set(d dialect, name string, value any) {
	switch v := value.(type) {
	case nil:
	case time.Time:
		r[name] = d.instant(v)
	default:
		r[name] = v
	}
}

// meetingTargets are where columns are read to.
func meetingTargets(m *meeting.Meeting) []any {
	targets := make([]any, len(columns))
	for i, c := range columns {
		targets[i] = c.into(m)
	}
	return targets
}

// placeholders are "$from, ..., $to".
func placeholders(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i))
	}
	return b.String()
}

// nullTime scans NULL as the zero time.
type nullTime struct{ to *time.Time }

func (n nullTime) Scan(v any) error {
	var t sql.NullTime
	if err := t.Scan(v); err != nil {
		return err
	}
	*n.to = t.Time
	return nil
}

// nullID scans NULL as 0.
type nullID struct{ to *int64 }

func (n nullID) Scan(v any) error {
	var id sql.NullInt64
	if err := id.Scan(v); err != nil {
		return err
	}
	*n.to = id.Int64
	return nil
}
