package scheduling

import (
	"fmt"
	"strings"
	"time"

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
	zone                          string // with the name of a time zone
	alternatives, needsApproval   string
	unknownOrganizer              string
	noRoom, over, invalid         string
	noRoomWith                    string // with features
	cancelledHere, released       string
	rejected, expired, withdrawn  string
	dates                         string // with the number of declined dates
	beyond                        string
	unreadable, winmail           string // a subject; its text with the room's address
	proposes                      string // with start and end
	delegated                     string // with addresses
	counter, counterText          string // a subject, with the title; the text, with room, start and end
	confirm, confirmText          string // a subject; the text, with address of the room, title, link
	layout                        string // of a date and time
	reasons                       reasons
}

var english = &words{
	lang: "en", reasons: englishReasons, accepted: "Accepted: %s", tentative: "Tentative: %s", declined: "Declined: %s",
	isAccepted: "%s is booked.", isTentative: "%s is requested. You will get another reply after the decision.",
	isDeclined: "%s is not booked.", taken: "%s is taken from %s to %s.", closed: "%s cannot be booked.",
	zone:         "The times are in the time zone %s.",
	alternatives: "These times and rooms are free:", needsApproval: "needs approval",
	unknownOrganizer: "%s is not a user of this installation. Ask an administrator for an account.",
	noRoomWith:       "No room that is free at this time has: %s.",
	noRoom:           "No room is free at this time.", over: "The meeting is over.", invalid: "The event cannot be read: %s.",
	cancelledHere: "The meeting was cancelled.", released: "The room was released because nobody checked in.",
	rejected: "The request was rejected.", expired: "Nobody decided on the request in time.", withdrawn: "The room is no longer available.",
	unreadable: "Your invitation could not be read",
	winmail: "The calendar message in your mail to %s is in winmail.dat, which only Outlook can read. No room was booked.\n\n" +
		"In Outlook, open File > Options > Mail, choose HTML under \"Compose messages in this format\", and send the invitation again. " +
		"Administrators of Exchange can turn off Rich Text for the domain of the rooms.",
	dates: "%d dates cannot be booked.", beyond: "The series extends further ahead than rooms can be booked.", proposes: "Proposes %s to %s.", delegated: "Delegates to %s.", layout: "Mon, Jan 2, 2006, 15:04",
	counter: "New time proposed: %s", counterText: "%s is free from %s to %s. Accept this proposal to move the meeting, or decline it.",
	confirm: "Please confirm your invitation",
	confirmText: "%s received an invitation from your address: %s\n\nWe could not verify that it is from you. If it is, confirm it within three days:\n\n%s\n\n" +
		"If it is not, ignore this mail. Then nothing is booked.",
}

var german = &words{
	lang: "de", reasons: germanReasons, accepted: "Zugesagt: %s", tentative: "Vorläufig: %s", declined: "Abgelehnt: %s",
	isAccepted: "%s ist gebucht.", isTentative: "%s ist angefragt. Sobald entschieden ist, erhalten Sie eine weitere Antwort.",
	isDeclined: "%s ist nicht gebucht.", taken: "%s ist von %s bis %s belegt.", closed: "%s kann nicht gebucht werden.",
	zone:         "Die Zeiten gelten in der Zeitzone %s.",
	alternatives: "Diese Zeiten und Räume sind frei:", needsApproval: "mit Genehmigung",
	unknownOrganizer: "%s hat hier kein Benutzerkonto. Bitten Sie die Administration um eines.",
	noRoomWith:       "Zu dieser Zeit ist kein Raum mit dieser Ausstattung frei: %s.",
	noRoom:           "Zu dieser Zeit ist kein Raum frei.", over: "Die Besprechung ist vorbei.", invalid: "Der Termin ist nicht lesbar: %s.",
	cancelledHere: "Die Besprechung wurde abgesagt.", released: "Der Raum wurde freigegeben, weil niemand eingecheckt hat.",
	rejected: "Die Anfrage wurde abgelehnt.", expired: "Niemand hat rechtzeitig über die Anfrage entschieden.", withdrawn: "Der Raum ist nicht mehr verfügbar.",
	unreadable: "Ihre Einladung war nicht lesbar",
	winmail: "Die Kalendernachricht Ihrer Mail an %s steht in winmail.dat, was nur Outlook lesen kann. Deshalb wurde kein Raum gebucht.\n\n" +
		"Wählen Sie in Outlook unter Datei > Optionen > E-Mail bei „Nachrichten in diesem Format verfassen“ HTML und senden Sie die Einladung noch einmal. " +
		"Die Administration von Exchange kann Rich Text für die Domain der Räume ausschalten.",
	dates: "%d Termine können nicht gebucht werden.", beyond: "Die Serie reicht weiter, als Räume im Voraus gebucht werden können.", proposes: "Schlägt vor: %s bis %s.", delegated: "Delegiert an %s.", layout: "02.01.2006, 15:04",
	counter: "Neue Zeit vorgeschlagen: %s", counterText: "%s ist von %s bis %s frei. Nehmen Sie den Vorschlag an, um die Besprechung zu verschieben, oder lehnen Sie ihn ab.",
	confirm: "Bitte bestätigen Sie Ihre Einladung",
	confirmText: "%s hat eine Einladung von Ihrer Adresse erhalten: %s\n\nIhr Mailserver hat nicht nachgewiesen, dass sie von Ihnen stammt. Falls ja, bestätigen Sie sie innerhalb von drei Tagen:\n\n%s\n\n" +
		"Falls nicht, ignorieren Sie diese Mail. Dann wird nichts gebucht.",
}

var chinese = &words{
	lang: "zh", reasons: chineseReasons, accepted: "已接受：%s", tentative: "暂定：%s", declined: "已拒绝：%s",
	isAccepted: "已预订 %s。", isTentative: "已申请 %s。审批后您会收到另一封回复。",
	isDeclined: "未能预订 %s。", taken: "%s 在 %s 至 %s 已被占用。", closed: "%s 无法预订。",
	zone:         "以上时间为时区 %s 的时间。",
	alternatives: "以下时间和会议室可用：", needsApproval: "需审批",
	unknownOrganizer: "%s 不是此系统的用户。请联系管理员开通账号。",
	noRoomWith:       "此时没有具备以下设备的空闲会议室：%s。",
	noRoom:           "此时没有空闲的会议室。", over: "会议已结束。", invalid: "无法读取该日程：%s。",
	cancelledHere: "会议已取消。", released: "无人签到，会议室已释放。",
	rejected: "申请已被拒绝。", expired: "申请未在期限内审批。", withdrawn: "会议室不再可用。",
	unreadable: "无法读取您的邀请",
	winmail: "您发送至 %s 的邮件将日历消息放在 winmail.dat 中，只有 Outlook 能读取，因此未预订会议室。\n\n" +
		"请在 Outlook 的“文件 > 选项 > 邮件”中，将“使用此格式撰写邮件”设为 HTML，然后重新发送邀请。Exchange 管理员也可以为会议室的域关闭 RTF 格式。",
	dates: "有 %d 个日期无法预订。", beyond: "该系列超出了会议室可提前预订的范围。", proposes: "建议改为 %s 至 %s。", delegated: "委托给 %s。", layout: "2006-01-02 15:04",
	counter: "建议新时间：%s", counterText: "%s 在 %s 至 %s 空闲。接受此建议即可改期，或予以拒绝。",
	confirm:     "请确认您的邀请",
	confirmText: "%s 收到了来自您地址的邀请：%s\n\n您的邮件服务器未能证明该邀请由您发出。如果是您发出的，请在三天内确认：\n\n%s\n\n如果不是，请忽略此邮件，不会预订任何会议室。",
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
