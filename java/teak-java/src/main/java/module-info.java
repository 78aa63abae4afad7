/** Teak, an embedded ordered transactional key-value store. */
module teak {
    exports teak;
}
