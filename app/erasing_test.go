package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"punctual/app/leaving"
)

// marker is part of the name and of the addresses of the person whom these tests erase.
const marker = "zqmarker"

// columns are all columns of all tables, as texts.
func (d *departing) columns() (all [][2]string) {
	d.Helper()
	query := `SELECT m.name, 'CAST(' || c.name || ' AS text)' FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`
	if d.a.db.Dialect == "postgres" {
		query = `SELECT c.table_name, CASE c.data_type WHEN 'bytea' THEN 'encode(' || c.column_name || ', ''escape'')' ELSE 'CAST(' || c.column_name || ' AS text)' END
			FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`
	}
	rows, err := d.a.db.Gorm.WithContext(d.Context()).Raw(query).Rows()
	if err != nil {
		d.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			d.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// marked are the columns with the marker, and in how many rows.
func (d *departing) marked() map[string]int64 {
	d.Helper()
	found := map[string]int64{}
	for _, c := range d.columns() {
		text := "lower(" + c[1] + ")"
		for _, fold := range []string{"\r\n ", `\r\n `} { // of iCalendar
			text = "replace(" + text + ", '" + fold + "', '')"
		}
		if n := d.count(c[0] + " WHERE " + text + " LIKE '%" + marker + "%'"); n > 0 {
			found[c[0]+" "+c[1]] = n
		}
	}
	return found
}

func (d *departing) exec(query string, args ...any) {
	d.Helper()
	if err := d.a.db.Gorm.WithContext(d.Context()).Exec(query, args...).Error; err != nil {
		d.Fatal(err)
	}
}

// A user who has left is erased from every column of every table. Everybody else, what happened and the
// figures stay. The address can be used again.
func TestErase(t *testing.T) {
	onBoth(t, func(d *departing) {
		zora := d.post("/users", `{"email":"former.zqmarker@example.org","name":"Zora Formerzqmarker","role":"manager","phone":"+4930111222"}`)
		user := fmt.Sprintf("/users/%d", zora)
		d.do("PATCH", user, `{"email":"zora.zqmarker@example.org","name":"Zora Zqmarker","phone":"+4930111333"}`, 200)
		friends := d.post("/groups", `{"name":"Friends of Zora Zqmarker"}`)
		d.do("PUT", fmt.Sprintf("/groups/%d/members/%d", friends, zora), "", 204)
		d.post("/rooms", fmt.Sprintf(`{"name":"Hopper","approval":{"required":true,"approver_ids":[%d]}}`, zora))
		at := func(day, hour int) string {
			return d.start.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour).Format(time.RFC3339)
		}
		invited := `[{"email":"Zora.Zqmarker@example.org","name":"Zora Zqmarker"},{"email":"guest@example.org","name":"Zora Zqmark"}]`
		own := d.post("/meetings", fmt.Sprintf(`{"title":"Review of Zora Zqmarker","description":"write to\nzora.zqmarker@example.org <zora.zqmarker@example.org>","room_ids":[1],"organizer_id":%d,"start":%q,"end":%q,"attendees":%s}`, zora, at(0, 9), at(0, 10), invited))
		other := d.post("/meetings", fmt.Sprintf(`{"title":"Plans","room_ids":[1],"organizer_id":%d,"start":%q,"end":%q,"attendees":%s}`, d.carl, at(1, 9), at(1, 10), invited))
		d.do("PATCH", fmt.Sprintf("/meetings/%d", other), `{"title":"Other plans"}`, 200)
		d.do("POST", "/series", fmt.Sprintf(`{"title":"Weekly","room_ids":[1],"organizer_id":%d,"timezone":"UTC","rrule":"FREQ=DAILY;COUNT=2","start":%q,"end":%q,"attendees":%s}`, zora, at(3, 12), at(3, 13), invited), 201)
		d.do("POST", "/waitlist", fmt.Sprintf(`{"title":"Wait","room_ids":[1],"start":%q,"end":%q,"attendees":%s}`, at(0, 9), at(0, 10), invited), 201)
		d.do("POST", user+"/tokens", `{"name":"Phone of Zora Zqmarker","scopes":["topics:produce"]}`, 201)
		d.exec(`INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ('https://login.example.org', 'zqmarker', ?, ?)`, zora, time.Now())
		d.exec(`INSERT INTO dav_objects (user_id, name, uid, starts_at, ics, version, created_at, updated_at) VALUES (?, 'zqmarker', 'a', ?, 'zqmarker', 1, ?, ?)`, zora, time.Now(), time.Now(), time.Now())
		d.exec(`INSERT INTO calendar_objects (id, uid, organizer, origin, sequence) VALUES (7, 'a', 'zora.zqmarker@example.org', 'mail', 0)`)
		d.exec(`INSERT INTO calendar_instances (object_id, recurrence_id, sequence, ics) VALUES (7, '', 0, ?)`, "BEGIN:VEVENT\r\nATTENDEE;CN=Zora Zqmarker:mailto:zora.zqm\r\n arker@example.org\r\nEND:VEVENT\r\n")
		d.exec(`INSERT INTO inbox (source, sender, recipient, mail_from, subject, message_id, digest, uid, method, verdict, reason, state, version, received_at, due_at, raw)
			VALUES ('lmtp', 'zora.zqmarker@example.org', 'r', 'zora.zqmarker@example.org', 'Zora Zqmarker', '', 'd', '', 'REQUEST', '', '', 'done', 1, ?, ?, ?)`, time.Now(), time.Now(), []byte("From: zora.zqmarker@example.org"))
		d.exec(`INSERT INTO notification_preferences (user_id, choices, digest, digest_at, digest_weekday, digest_zone, digest_version, version, updated_at) VALUES (?, '{"reminder":["zqmarker"]}', 'off', 0, 0, '', 0, 1, ?)`, zora, time.Now())
		d.exec(`INSERT INTO notification_optouts (address, kind, created_at) VALUES ('zora.zqmarker@example.org', 'reminder', ?)`, time.Now())
		for _, address := range []string{"zora.zqmarker@example.org", "former.zqmarker@example.org"} {
			d.exec(`INSERT INTO email_bounces (address, source, reason, message_id, bounced_at) VALUES (?, 'smtp', 'zqmarker', '', ?)`, address, time.Now())
		}
		d.exec(`INSERT INTO fault_reports (room_id, category, text, user_id, version, created_at, updated_at) VALUES (1, 'other', 'Call Zora Zqmarker', ?, 1, ?, ?)`, zora, time.Now(), time.Now())
		d.exec(`UPDATE meetings SET decided_by = ? WHERE id = ?`, zora, own)
		d.exec(`INSERT INTO approvals (meeting_id, number, waiting, agreed) VALUES (?, 1, false, ?)`, own, fmt.Sprintf(`[{"id":%d,"name":"Zora Zqmarker","level":1}]`, zora))
		if err := os.MkdirAll(outboxDir, 0o755); err != nil {
			d.Fatal(err)
		}
		mail := filepath.Join(outboxDir, "20270101T000000.000Z-email-1.eml")
		if err := os.WriteFile(mail, []byte("To: zora.zqmarker@example.org\r\n\r\n"), 0o644); err != nil {
			d.Fatal(err)
		}
		d.do("DELETE", user, "", 409)
		d.do("POST", user+"/leave", fmt.Sprintf(`{"meetings":"hand_over","to_user_id":%d,"reason":"Zora Zqmarker left"}`, d.carl), 200)
		d.do("DELETE", user, "", 409)
		d.run(leaving.JobLeave, 100)
		if before := d.marked(); len(before) < 25 {
			d.Errorf("the marker is in %d columns only: %v", len(before), before)
		}
		d.do("GET", "/users/99/data", "", 404)
		data := map[string]any{}
		if err := json.Unmarshal([]byte(d.do("GET", user+"/data", "", 200)), &data); err != nil {
			d.Fatal(err)
		}
		for kind, want := range map[string]int{"profile": 1, "meetings_organized": 0, "meetings_attended": 4, "identities": 1, "groups": 1, "tokens": 0, "dav_objects": 1, "fault_reports": 1, "notification_preferences": 1, "notification_optouts": 1, "email_bounces": 1} {
			if list, _ := data[kind].([]any); len(list) != want {
				d.Errorf("%d %s are exported, want %d", len(list), kind, want)
			}
		}
		about, _ := data["audit_about_user"].([]any)
		if len(about) == 0 {
			d.Error("no audit entries about the user are exported")
		}
		for _, entry := range about {
			if of := entry.(map[string]any); of["address"] != nil {
				d.Errorf("the network address of an admin is exported: %v", of)
			}
		}
		if list, _ := data["notifications"].([]any); len(list) == 0 {
			d.Error("no notifications are exported")
		}
		for range 3 {
			d.do("GET", "/me/data", "", 200)
		}
		d.do("GET", "/me/data", "", 200)
		d.do("GET", "/me/data", "", 429)
		d.do("POST", "/erasures", `{"email":"zora.zqmarker@example.org"}`, 422)
		tables := []string{"meetings", "attendees", "history", "audit", "series", "users", "notifications", "report_days", "waitlist"}
		rows := map[string]int64{}
		for _, table := range tables {
			rows[table] = d.count(table)
		}
		report := d.do("GET", "/reports/utilisation?group=room&from="+at(-1, 0)+"&to="+at(9, 0), "", 200)

		d.do("DELETE", user, "", 202)
		d.do("DELETE", user, "", 202) // the same
		d.run(leaving.JobErase, 1)
		if left := d.marked(); len(left) > 0 {
			d.Errorf("left: %v", left)
		}
		d.want("a guest with a similar name", d.count("attendees WHERE name = 'Zora Zqmark'"), 4)
		for _, table := range tables {
			want := rows[table]
			if table == "audit" {
				want++ // the erasure
			}
			d.want(table, d.count(table), want)
		}
		if diff := gocmp.Diff(report, d.do("GET", "/reports/utilisation?group=room&from="+at(-1, 0)+"&to="+at(9, 0), "", 200)); diff != "" {
			d.Errorf("the report changed: %s", diff)
		}
		if list := d.do("GET", "/erasures", "", 200); !strings.Contains(list, `"state":"done"`) {
			d.Errorf("erasures: %s", list)
		}
		if got := d.do("GET", user, "", 200); !strings.Contains(got, "@erased.invalid") || !strings.Contains(got, `"disabled":true`) {
			d.Errorf("the user: %s", got)
		}
		if got := d.do("GET", fmt.Sprintf("/meetings/%d/history", own), "", 200); !strings.Contains(got, "@erased.invalid") || !strings.Contains(got, "carl@example.org") {
			d.Errorf("the history: %s", got)
		}
		if _, err := os.Stat(mail); err == nil {
			d.Error("the file in the outbox is left")
		}
		for _, forged := range []string{"UPDATE audit SET actor_name = 'x'", "UPDATE history SET actor_name = 'x'"} {
			if err := d.a.db.Gorm.Exec(forged).Error; err == nil {
				d.Errorf("%s: allowed after the erasure", forged)
			}
		}
		d.post("/users", `{"email":"zora.zqmarker@example.org","name":"Zora Zqmarker","role":"member"}`)
	})
}

// A guest is erased by the address. Others whose address only looks similar stay.
func TestErase_guest(t *testing.T) {
	onBoth(t, func(d *departing) {
		start := d.start.Add(9 * time.Hour)
		d.post("/meetings", fmt.Sprintf(`{"title":"Plans","room_ids":[1],"organizer_id":%d,"start":%q,"end":%q,"attendees":[{"email":"g@example.org","name":"Gus"},{"email":"g@example.org.uk","name":"Gus"},{"email":"long-g@example.org","name":"Meg"}]}`,
			d.carl, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)))
		d.do("POST", "/erasures", `{"email":"nobody"}`, 422)
		d.do("POST", "/erasures", `{"email":"G@example.org"}`, 202)
		d.run(leaving.JobErase, 1)
		d.want("the guest", d.count("attendees WHERE email = 'g@example.org' OR email LIKE 'erased-%' AND name = 'Gus'"), 0)
		d.want("others", d.count("attendees WHERE email IN ('g@example.org.uk', 'long-g@example.org')"), 2)
		d.want("erased", d.count("attendees WHERE email = 'erased-1@erased.invalid' AND name = 'Erased person'"), 1)
	})
}
