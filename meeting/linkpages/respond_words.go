package linkpages

import "punctual/meeting"

// What the page says on which one answers an invitation, by language. Leads have {who} organizes.
var respondStates = map[string]map[string]stateWords{
	"en": {
		"needs_action": {"Invitation", "{who} invited you. Will you attend?"},
		"accepted":     {"Accepted", "{who} can see that you will attend. You can change your response until the meeting ends."},
		"tentative":    {"Maybe", "{who} can see that you may attend. You can change your response until the meeting ends."},
		"declined":     {"Declined", "{who} can see that you will not attend. You can change your response until the meeting ends."},
		"over":         {"Meeting ended", "This meeting has ended, so you can no longer respond."},
		"off":          {"Canceled", "This meeting was canceled, so no response is needed."},
		"unknown":      {"This link does not work", "It may be incomplete, or you are no longer invited. Open it from the latest e-mail."},
		"limited":      {"Too many attempts", "Please try again in a minute."},
		"failed":       {"Something went wrong", "Your response was not saved. Please try again in a moment."},
	},
	"de": {
		"needs_action": {"Einladung", "{who} hat Sie eingeladen. Nehmen Sie teil?"},
		"accepted":     {"Zugesagt", "{who} sieht, dass Sie teilnehmen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"tentative":    {"Vielleicht", "{who} sieht, dass Sie vielleicht teilnehmen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"declined":     {"Abgesagt", "{who} sieht, dass Sie nicht teilnehmen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"over":         {"Besprechung beendet", "Diese Besprechung ist beendet. Eine Antwort ist nicht mehr möglich."},
		"off":          {"Abgesagt", "Diese Besprechung wurde abgesagt. Eine Antwort ist nicht nötig."},
		"unknown":      {"Dieser Link funktioniert nicht", "Möglicherweise ist er unvollständig, oder Sie sind nicht mehr eingeladen. Öffnen Sie ihn aus der neuesten E-Mail."},
		"limited":      {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":       {"Ein Fehler ist aufgetreten", "Ihre Antwort wurde nicht gespeichert. Bitte versuchen Sie es gleich noch einmal."},
	},
	"zh-CN": {
		"needs_action": {"会议邀请", "{who} 邀请您参加会议。您会参加吗？"},
		"accepted":     {"已接受", "{who} 会看到您将参加。会议结束前您都可以更改答复。"},
		"tentative":    {"待定", "{who} 会看到您可能参加。会议结束前您都可以更改答复。"},
		"declined":     {"已谢绝", "{who} 会看到您不参加。会议结束前您都可以更改答复。"},
		"over":         {"已结束", "本次会议已结束，无需再答复。"},
		"off":          {"会议已取消", "本次会议已取消，无需再答复。"},
		"unknown":      {"链接无效", "链接可能不完整，或者您已不在受邀之列。请从最新的邮件中打开。"},
		"limited":      {"尝试次数过多", "请一分钟后再试。"},
		"failed":       {"出错了", "您的答复尚未保存，请稍后再试。"},
	},
}

var respondLabels = map[string]map[meeting.Response]string{
	"en":    {meeting.Accepted: "Accept", meeting.Tentative: "Maybe", meeting.Declined: "Decline"},
	"de":    {meeting.Accepted: "Zusagen", meeting.Tentative: "Vielleicht", meeting.Declined: "Absagen"},
	"zh-CN": {meeting.Accepted: "接受", meeting.Tentative: "待定", meeting.Declined: "谢绝"},
}

var respondConfirm = map[string]string{
	"en":    "You are about to respond “{choice}”. Please confirm below.",
	"de":    "Sie sind dabei, mit „{choice}“ zu antworten. Bitte bestätigen Sie unten.",
	"zh-CN": "您即将答复“{choice}”。请在下方确认。",
}

var respondOptional = map[string]string{
	"en": "optional, sent to the organizer", "de": "optional, wird an den Organisator gesendet", "zh-CN": "选填，仅组织者可见",
}

// respondChanged asks again after a change that the reader had not seen.
var respondChanged = map[string]string{
	"en":    "The meeting has changed since you opened this page, so your response was not saved. Please review the details below and respond again.",
	"de":    "Die Besprechung wurde geändert, seit Sie diese Seite geöffnet haben. Ihre Antwort wurde daher nicht gespeichert. Bitte prüfen Sie die Angaben unten, und antworten Sie noch einmal.",
	"zh-CN": "您打开页面后，会议已有变更，您的答复尚未保存。请查看最新信息后重新答复。",
}
