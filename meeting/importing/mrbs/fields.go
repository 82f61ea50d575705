package mrbs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"punctual/meeting"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
)

var standardEntry = []string{
	"id", "start_time", "end_time", "entry_type", "repeat_id", "room_id", "timestamp", "create_by", "modified_by", "name", "type", "description", "status",
	"reminded", "info_time", "info_user", "info_text", "ical_uid", "ical_sequence", "ical_recur_id", "allow_registration", "registrant_limit",
	"registrant_limit_enabled", "registration_opens", "registration_opens_enabled", "registration_closes", "registration_closes_enabled",
	"private", // of old versions
}

func custom(t *sqldump.Table, standard []string) (columns []string) {
	if t == nil {
		return nil
	}
	for _, c := range t.Columns {
		if !slices.Contains(standard, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// readFields finds custom fields, and what they hold by their values.
func (r *reader) readFields() {
	r.fields = map[string]meeting.FieldKind{}
	for _, column := range custom(r.table("entry"), standardEntry) {
		yesNo, number, some := true, true, false
		for _, t := range []string{"entry", "repeat"} {
			r.table(t).All(func(row sqldump.Row) {
				value := strings.TrimSpace(row.Text(column))
				if value == "" {
					return
				}
				some = true
				yesNo = yesNo && (value == "0" || value == "1")
				_, err := strconv.ParseFloat(value, 64)
				number = number && err == nil
			})
		}
		if !some {
			continue
		}
		kind := meeting.FieldText
		switch {
		case yesNo:
			kind = meeting.FieldYesNo
		case number:
			kind = meeting.FieldNumber
		}
		r.fields[column] = kind
		label := []rune(strings.ReplaceAll(column, "_", " "))
		r.data.Fields = append(r.data.Fields, moving.Field{Name: fieldName(column), Label: strings.ToUpper(string(label[:1])) + string(label[1:]), Kind: kind})
	}
}

// fieldName makes a column the name of a custom field.
func fieldName(column string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(column))
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "f_" + name
	}
	return name[:min(len(name), 40)]
}

func (r *reader) readTypes() {
	slices.Sort(r.used)
	for _, letter := range r.used {
		r.data.Types = append(r.data.Types, moving.Type{Key: letter, Name: cmp.Or(r.Types[letter], letters[letter], "Type "+letter)})
	}
}
