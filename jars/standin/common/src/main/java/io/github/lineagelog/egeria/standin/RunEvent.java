/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/**
 * An event as the daemon's beans keep it: fields that the beans do not know are gone, and a number that was absent is 0.
 * One class for all beans, with some of the fields of the real ones.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonInclude(JsonInclude.Include.NON_NULL)
public class RunEvent {
    public String eventTime;
    public String eventType;
    public String producer;
    public String schemaURL;
    public Run run;
    public Job job;
    public DataSet dataset;
    public List<DataSet> inputs;
    public List<DataSet> outputs;

    /** A run. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public static class Run {
        public String runId;
    }

    /** A job. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public static class Job {
        public String namespace;
        public String name;
    }

    /** A data set. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public static class DataSet {
        public String namespace;
        public String name;
        public OutputFacets outputFacets;
    }

    /** The facets of an output. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public static class OutputFacets {
        public OutputStatistics outputStatistics;
    }

    /** The statistics of an output: plain numbers, so an absent one comes back as 0. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public static class OutputStatistics {
        public String _producer;
        public String _schemaURL;
        public long rowCount;
        public long size;
    }
}
