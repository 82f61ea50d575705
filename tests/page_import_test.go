package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// TestPageImport: an admin previews a calendar, sees what cannot be imported and why, and imports the rest.
func TestPageImport(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "Franklin")
	start := time.Now().UTC().AddDate(0, 0, 9).Format("20060102")
	file := filepath.Join(t.TempDir(), "office.ics")
	text := "BEGIN:VCALENDAR\r\n"
	for i, organizer := range []string{"ada@example.org", "ada@example.org", "old@example.net"} {
		text += fmt.Sprintf("BEGIN:VEVENT\r\nUID:%d\r\nSUMMARY:Event %d\r\nORGANIZER:mailto:%s\r\nLOCATION:Franklin\r\nDTSTART:%sT1%d0000Z\r\nDURATION:PT2H\r\nEND:VEVENT\r\n", i, i, organizer, start, i)
	}
	if err := os.WriteFile(file, []byte(text+"END:VCALENDAR\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	b := adminTab(t, server, "/admin/imports")
	b.await("document.querySelector('input[type=file]')")
	b.do(chromedp.SetUploadFiles("input[type=file]", []string{file}))
	b.fill("Organizer of events without a known organizer", "nobody@example.net")
	b.press("Preview")
	b.faultOf("Organizer of events without a known organizer", "nobody@example.net")
	b.choose("#content input[type=email], main input[type=email]", "")
	b.press("Preview")
	b.reads("New: 1")
	b.reads("The room is taken at that time.")
	b.reads("No known organizer")
	b.accessible("import")
	b.shot("import")
	if ms := testenv.All[testenv.Meeting](t, ada, at("/meetings?room_id=%d", room.ID)); len(ms) != 0 {
		t.Errorf("the preview booked %d meetings", len(ms))
	}
	b.press("Import 1 event")
	b.reads("Import finished.")
	if ms := testenv.All[testenv.Meeting](t, ada, at("/meetings?room_id=%d", room.ID)); len(ms) != 1 || ms[0].Title != "Event 0" {
		t.Errorf("imported %+v", ms)
	}
}
