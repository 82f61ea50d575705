package scheduling

import (
	"fmt"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// words are the texts of answers in one language.
type words struct {
	lang                          string
	accepted, tentative, declined string // subjects, with the title
	isAccepted, isTentative       string // with the room
	isDeclined                    string // with the room
	taken                         string // with room, start and end
	closed                        string // with room
	alternatives, needsApproval   string
	unknownOrganizer              string
	noRoom, over, invalid         string
	cancelledHere, released       string
	rejected, expired, withdrawn  string
	dates                         string // with the number of declined dates
	beyond                        string
	layout                        string // of a date and time
}

var english = &words{
	lang: "en", accepted: "Accepted: %s", tentative: "Tentative: %s", declined: "Declined: %s",
	isAccepted: "%s is booked.", isTentative: "%s is requested. You will get another answer when the request is decided.",
	isDeclined: "%s is not booked.", taken: "%s is taken from %s to %s.", closed: "%s cannot be booked.",
	alternatives: "These times and rooms are free:", needsApproval: "needs approval",
	unknownOrganizer: "%s is not a user of this installation. Ask an administrator for an account.",
	noRoom:           "No room is free at this time.", over: "The meeting is over.", invalid: "The event cannot be read: %s.",
	cancelledHere: "The meeting was cancelled.", released: "The room was released because nobody checked in.",
	rejected: "The request was rejected.", expired: "Nobody decided the request in time.", withdrawn: "The room is no longer available.",
	dates: "%d dates cannot be booked.", beyond: "The series extends further ahead than rooms can be booked.", layout: "Mon, Jan 2, 2006, 15:04",
}

var german = &words{
	lang: "de", accepted: "Zugesagt: %s", tentative: "Vorläufig: %s", declined: "Abgelehnt: %s",
	isAccepted: "%s ist gebucht.", isTentative: "%s ist angefragt. Sobald entschieden ist, erhalten Sie eine weitere Antwort.",
	isDeclined: "%s ist nicht gebucht.", taken: "%s ist von %s bis %s belegt.", closed: "%s kann nicht gebucht werden.",
	alternatives: "Diese Zeiten und Räume sind frei:", needsApproval: "mit Genehmigung",
	unknownOrganizer: "%s hat hier kein Benutzerkonto. Bitten Sie die Administration um eines.",
	noRoom:           "Zu dieser Zeit ist kein Raum frei.", over: "Die Besprechung ist vorbei.", invalid: "Der Termin ist nicht lesbar: %s.",
	cancelledHere: "Die Besprechung wurde abgesagt.", released: "Der Raum wurde freigegeben, weil niemand eingecheckt hat.",
	rejected: "Die Anfrage wurde abgelehnt.", expired: "Niemand hat rechtzeitig über die Anfrage entschieden.", withdrawn: "Der Raum ist nicht mehr verfügbar.",
	dates: "%d Termine können nicht gebucht werden.", beyond: "Die Serie reicht weiter, als Räume im Voraus gebucht werden können.", layout: "02.01.2006, 15:04",
}

var chinese = &words{
	lang: "zh", accepted: "已接受：%s", tentative: "暂定：%s", declined: "已拒绝：%s",
	isAccepted: "已预订 %s。", isTentative: "已申请 %s。审批后您会收到另一封回复。",
	isDeclined: "未能预订 %s。", taken: "%s 在 %s 至 %s 已被占用。", closed: "%s 无法预订。",
	alternatives: "以下时间和会议室可用：", needsApproval: "需审批",
	unknownOrganizer: "%s 不是此系统的用户。请联系管理员开通账号。",
	noRoom:           "此时没有空闲的会议室。", over: "会议已结束。", invalid: "无法读取该日程：%s。",
	cancelledHere: "会议已取消。", released: "无人签到，会议室已释放。",
	rejected: "申请已被拒绝。", expired: "申请未在期限内审批。", withdrawn: "会议室不再可用。",
	dates: "有 %d 个日期无法预订。", beyond: "该系列超出了会议室可提前预订的范围。", layout: "2006-01-02 15:04",
}

func wordsFor(locale string) *words {
	switch language, _, _ := strings.Cut(strings.ToLower(locale), "-"); language {
	case "de":
		return german
	case "zh":
		return chinese
	default:
		return english
	}
}

func (w *words) time(t time.Time, zone *time.Location) string { return t.In(zone).Format(w.layout) }

func (w *words) conflict(room string, s clock.Slot, zone *time.Location) string {
	end := w.time(s.End, zone)
	if clock.Wall(s.Start, zone).Format(time.DateOnly) == clock.Wall(s.End, zone).Format(time.DateOnly) {
		end = s.End.In(zone).Format("15:04")
	}
	return fmt.Sprintf(w.taken, room, w.time(s.Start, zone), end)
}

func (w *words) subject(s Status, title string) string {
	return fmt.Sprintf(map[Status]string{Accepted: w.accepted, Tentative: w.tentative, Declined: w.declined}[s], title)
}

func (w *words) status(s Status, room string) string {
	return fmt.Sprintf(map[Status]string{Accepted: w.isAccepted, Tentative: w.isTentative, Declined: w.isDeclined}[s], room)
}

// suggestions are lines for bookable alternatives.
func (w *words) suggestions(all []finding.Suggestion, zone *time.Location) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "\n- %s, %s - %s", a.Room.Name, w.time(a.Slot.Start, zone), a.Slot.End.In(zone).Format("15:04"))
		if a.NeedsApproval {
			b.WriteString(" (" + w.needsApproval + ")")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return w.alternatives + b.String()
}

// violations are the messages of broken rules.
func (w *words) violations(faults []meeting.Fault) []string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = strings.ToUpper(f.Location[:min(1, len(f.Location))]) + f.Location[min(1, len(f.Location)):] + " " + f.Message + "."
	}
	return lines
}
