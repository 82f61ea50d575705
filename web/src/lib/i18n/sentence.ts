// sentence drops the second full stop after an abbreviation, such as of "Größte Verspätung: 5 Sek..".
export const sentence = (text: string) => text.replace(/\.\.$/, '.')
