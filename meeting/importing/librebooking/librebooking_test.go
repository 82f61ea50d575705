package librebooking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
)

const dump = `
INSERT INTO layouts (layout_id, timezone) VALUES (1, 'Europe/Rome');
INSERT INTO schedules (schedule_id, name, layout_id, allow_concurrent_bookings) VALUES (1, 'Palazzo &amp; Co', 1, 0), (2, 'Labs', 1, 1);
INSERT INTO time_blocks (layout_id, availability_code, start_time, end_time, day_of_week) VALUES (1,2,'00:00:00','08:00:00',NULL), (1,1,'08:00:00','12:00:00',NULL), (1,1,'12:00:00','18:00:00',NULL), (1,2,'18:00:00','00:00:00',NULL);
INSERT INTO resources (resource_id, name, location, max_participants, requires_approval, schedule_id, status_id, min_duration, max_duration, buffer_time, resource_type_id, description) VALUES
	(1,'Sala 1','2nd floor',8,1,1,1,1800,14400,900,1,'Has a view'), (2,'Closed',NULL,NULL,0,1,0,NULL,NULL,NULL,NULL,NULL), (3,'Lost',NULL,NULL,0,9,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO resource_types (resource_type_id, resource_type_name) VALUES (1,'Meeting room');
INSERT INTO roles (role_id, name, role_level) VALUES (1,'Group Admin',1), (2,'Application Admin',2), (4,'Schedule Admin',4);
INSERT INTO group_roles (group_id, role_id) VALUES (2,2), (4,4);
INSERT INTO user_groups (user_id, group_id) VALUES (1,2), (2,4);
INSERT INTO users (user_id, fname, lname, username, email, phone, timezone, status_id) VALUES (1,'Ada','L','ada','ada@example.org','','Europe/Rome',1), (2,'Bo','','bo','bo@example.org','','UTC',1), (3,'Cy','X','cy','cy@example.org','','UTC',3);
INSERT INTO custom_attributes (custom_attribute_id, display_label, display_type, attribute_category, possible_values) VALUES (1,'Cost center',1,1,NULL), (2,'Catering?',4,1,NULL), (3,'Layout',3,1,'U,Rows'), (4,'Wheelchair',4,4,NULL);
INSERT INTO custom_attribute_values (custom_attribute_id, attribute_value, entity_id, attribute_category) VALUES (1,'CC-1',10,1), (2,'1',10,1), (3,'Rows',10,1), (4,'1',1,4);
INSERT INTO reservation_series (series_id, title, description, type_id, status_id, repeat_type, repeat_options, owner_id) VALUES
	(10,'Q&amp;A','',1,1,'none','',2), (11,'Weekly','',1,1,'weekly','interval=2|termination=2027-12-17 22:59:59|days=1,3',1), (12,'Gone','',1,2,'none','',1), (13,'Asked','',1,3,'none','',9), (14,'Odd','',1,1,'custom','',1);
INSERT INTO reservation_instances (reservation_instance_id, start_date, end_date, reference_number, series_id) VALUES
	(1,'2027-11-01 09:00:00','2027-11-01 10:00:00','r1',10),
	(2,'2027-11-01 13:00:00','2027-11-01 14:00:00','r2',11), (3,'2027-11-03 13:00:00','2027-11-03 14:00:00','r3',11), (4,'2027-11-15 13:00:00','2027-11-15 14:00:00','r4',11),
	(5,'2027-11-01 09:00:00','2027-11-01 10:00:00','r5',12), (6,'2027-11-02 09:00:00','2027-11-02 10:00:00','r6',13), (7,'2027-11-04 09:00:00','2027-11-04 10:00:00','r7',14), (8,'2027-11-05 09:00:00','2027-11-05 10:00:00','r8',14);
INSERT INTO reservation_resources (series_id, resource_id, resource_level_id) VALUES (10,2,2), (10,1,1), (11,1,1), (12,1,1), (13,1,1), (14,1,1);
INSERT INTO reservation_users (reservation_instance_id, user_id, reservation_user_level) VALUES (1,2,1), (1,1,2), (1,3,3);
INSERT INTO reservation_guests (reservation_instance_id, email, reservation_user_level) VALUES (1,'guest@example.net',3);
INSERT INTO quotas (quota_id) VALUES (1);
`

func TestRead(t *testing.T) {
	t.Parallel()
	tables, err := sqldump.Read(strings.NewReader(dump), sqldump.Limits{}, Want)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Read(tables)
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Sites) != 2 || data.Sites[0].Name != "Palazzo & Co" || data.Sites[0].Timezone != "Europe/Rome" {
		t.Errorf("sites: %+v", data.Sites)
	}
	if len(data.Rooms) != 2 || !data.Rooms[1].Inactive {
		t.Fatalf("rooms: %+v", data.Rooms)
	}
	room := data.Rooms[0]
	if hours := fmt.Sprint(room.OpeningHours); room.Capacity != 8 || room.Floor != "2nd floor" || !room.ApprovalRequired || room.MaxDuration != 4*time.Hour ||
		room.BufferAfter != 15*time.Minute || strings.Join(room.Features, ",") != "Meeting room,Wheelchair" || hours != "[{[MO TU WE TH FR SA SU] 08:00 18:00}]" {
		t.Errorf("room: %+v, open %s", room, hours)
	}
	var people []string
	for _, p := range data.People {
		people = append(people, fmt.Sprintf("%s %s %v %v", p.Name, p.Role, p.Disabled, p.Left))
	}
	if got := strings.Join(people, ", "); got != "Ada L admin false false, Bo manager false false, Cy X member true false, User 9 member false true" {
		t.Errorf("people: %s", got)
	}
	if len(data.Fields) != 3 || data.Fields[0].Name != "cost_center" || data.Fields[1].Kind != meeting.FieldYesNo || data.Fields[2].Kind != meeting.FieldChoice {
		t.Errorf("fields: %+v", data.Fields)
	}
	if len(data.Series) != 2 || data.Series[0].Rule != "FREQ=WEEKLY;WKST=SU;BYDAY=MO,WE;INTERVAL=2;UNTIL=20271217T225959Z" || data.Series[1].Rule != "" {
		t.Errorf("series: %+v", data.Series)
	}
	if start := data.Series[0].Start; start.Hour() != 14 { // in Rome
		t.Errorf("the series begins at %s", start)
	}
	byRef := map[string]moving.Booking{}
	for _, b := range data.Bookings {
		byRef[b.Ref] = b
	}
	first := byRef["reservation r1"]
	if len(data.Bookings) != 7 || first.Title != "Q&A" || strings.Join(first.Rooms, ",") != "1,2" || first.Fields["catering"] != true || first.Fields["layout"] != "Rows" || len(first.Attendees) != 3 ||
		first.Attendees[0].Response != meeting.Accepted || first.Series != "" || first.Zone != "Europe/Rome" {
		t.Errorf("reservations: %+v", data.Bookings)
	}
	if asked := byRef["reservation r6"]; !asked.Pending || asked.Organizer != "9" {
		t.Errorf("the request: %+v", asked)
	}
	notes := fmt.Sprint(data.Notes)
	for _, want := range []string{"1 deleted reservations", "Labs its resources can be booked several times", "Has a view", "resource Lost", "quotas"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note about %s: %s", want, notes)
		}
	}
	if _, err := Read(map[string]*sqldump.Table{}); err == nil || !strings.Contains(err.Error(), "resources is missing") {
		t.Errorf("an empty database: %v", err)
	}
}
