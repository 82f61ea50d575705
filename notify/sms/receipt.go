package sms

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/notify"
)

// ErrSignature reports a receipt that does not come from the provider.
var ErrSignature = errors.New("sms: invalid signature of a receipt")

// receipt returns the report about a message of this ID, or no report if the ID is not one of ours.
func receipt(id string, delivered bool, reason string, at time.Time) []notify.Receipt {
	number, version, resent := strings.Cut(id, "-")
	r := notify.Receipt{Version: 1, Reception: notify.Delivered, At: at}
	var err error
	if r.ID, err = strconv.ParseInt(number, 10, 64); err != nil {
		return nil
	}
	if resent {
		if r.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
			return nil
		}
	}
	if !delivered {
		r.Reception, r.Reason = notify.Undelivered, reason
	}
	return []notify.Receipt{r}
}

// TwilioReceipts reads a status callback of Twilio for the address that was called, with its query. It
// returns [ErrSignature] if token did not sign it, and nothing for states that are not final.
func TwilioReceipts(token, address string, form url.Values, signature string, now time.Time) ([]notify.Receipt, error) {
	got, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || token == "" || !hmac.Equal(got, twilioSignature(token, address, form)) {
		return nil, ErrSignature
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address of a receipt: %w", err)
	}
	id := u.Query().Get("id")
	switch status := form.Get("MessageStatus"); status {
	case "delivered", "read":
		return receipt(id, true, "", now), nil
	case "undelivered", "failed", "canceled":
		reason := "twilio: " + status
		if code := form.Get("ErrorCode"); code != "" && code != "0" {
			reason += ", code " + code
		}
		return receipt(id, false, reason, now), nil
	}
	return nil, nil
}

// twilioSignature signs an address followed by the sorted parameters of a form.
func twilioSignature(token, address string, form url.Values) []byte {
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(address))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		values := slices.Compact(slices.Sorted(slices.Values(form[name])))
		for _, v := range values {
			mac.Write([]byte(name + v))
		}
	}
	return mac.Sum(nil)
}

// AliyunReceipts reads the reports (SmsReport) that Alibaba Cloud posts. They are not signed: shown is the
// secret in the address that was called.
func AliyunReceipts(secret, shown string, body []byte, now time.Time) ([]notify.Receipt, error) {
	if secret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(shown)) != 1 {
		return nil, ErrSignature
	}
	var reports []struct {
		Success bool   `json:"success"`
		Code    string `json:"err_code"`
		Message string `json:"err_msg"`
		OutID   string `json:"out_id"`
	}
	if err := json.Unmarshal(body, &reports); err != nil {
		return nil, fmt.Errorf("must be a JSON array of reports: %w", err)
	}
	var rs []notify.Receipt
	for _, r := range reports {
		rs = append(rs, receipt(r.OutID, r.Success, strings.TrimSpace("aliyun: "+r.Code+" "+r.Message), now)...)
	}
	return rs, nil
}

// GatewayReceipts reads reports of a generic gateway: an object or an array of objects with the ID of the
// message, the status "delivered" or "undelivered", and optionally an error. Other states are ignored. The
// signature is "sha256=" and the HMAC-SHA256 of the body in hexadecimal digits.
func GatewayReceipts(secret, signature string, body []byte, now time.Time) ([]notify.Receipt, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	digits, ok := strings.CutPrefix(signature, "sha256=")
	got, err := hex.DecodeString(digits)
	if secret == "" || !ok || err != nil || !hmac.Equal(got, mac.Sum(nil)) {
		return nil, ErrSignature
	}
	type report struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	var reports []report
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '{' {
		reports = make([]report, 1)
		err = json.Unmarshal(body, &reports[0])
	} else {
		err = json.Unmarshal(body, &reports)
	}
	if err != nil {
		return nil, fmt.Errorf("must be a JSON object or array of reports: %w", err)
	}
	var rs []notify.Receipt
	for _, r := range reports {
		if r.Status == "delivered" || r.Status == "undelivered" {
			rs = append(rs, receipt(r.ID, r.Status == "delivered", r.Error, now)...)
		}
	}
	return rs, nil
}
